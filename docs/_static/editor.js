// The editors of tasks, and the cells of a page. A worker, which can be stopped, runs Python.
"use strict"

{
  const PREFIX = "minitorch:"
  const SLOW = 20 // seconds after which a loop without end is likely
  const TESTS = ["run_task.py", "workspace.zip"]
  const CELLS = ["run_cell.py", "workspace.zip", "reference.zip"]
  let parts // of Python, inflated; loaded on the first click

  const saved = path => { try { return localStorage.getItem(PREFIX + path) } catch { return null } }
  const save = (path, text) => {
    try { text === null ? localStorage.removeItem(PREFIX + path) : localStorage.setItem(PREFIX + path, text) } catch { /* not kept */ }
  }
  const allSaved = () => {
    try {
      const keys = Object.keys(localStorage).filter(key => key.startsWith(PREFIX))
      return Object.fromEntries(keys.map(key => [key.slice(PREFIX.length), localStorage.getItem(key)]))
    } catch { return {} }
  }
  const make = (parent, kind, properties = {}) => {
    const made = Object.assign(document.createElement(kind), properties)
    parent.append(made)
    return made
  }

  const load = url => new Promise((resolve, reject) => {
    const script = make(document.head, "script", {src: url})
    script.onload = resolve
    script.onerror = () => reject(new Error("the file python.js did not load; check the connection and try again"))
  })
  const inflate = async text => {
    const letters = atob(text), bytes = new Uint8Array(letters.length)
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i) // Uint8Array.from takes seconds for it
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer()
  }
  const getParts = async url => {
    await load(url)
    const names = Object.keys(globalThis.pythonParts)
    const buffers = await Promise.all(names.map(name => inflate(globalThis.pythonParts[name])))
    delete globalThis.pythonParts
    return Object.fromEntries(names.map((name, i) => [name, buffers[i]]))
  }

  // A worker that has started Python.
  const startWorker = (parts, program, ...files) => {
    const rule = "self.importScripts = undefined\n" // Pyodide refuses a worker that is not a module, which a page on the disk may not start
    const code = [rule, ...["pyodide.js", "pyodide.asm.mjs", "worker.js"].flatMap(name => [parts[name], "\n"])]
    const url = URL.createObjectURL(new Blob(code, {type: "text/javascript"}))
    const worker = new Worker(url)
    worker.ready = new Promise((resolve, reject) => {
      worker.onmessage = ({data}) => { URL.revokeObjectURL(url); data.ready ? resolve() : reject(new Error(data.result.text)) }
      worker.onerror = event => reject(new Error(event.message))
    })
    worker.ready.catch(() => {})
    worker.postMessage({parts, program, files})
    return worker
  }

  // Enter keeps the indentation, and indents more after a colon.
  const lineBreak = before => {
    const line = before.split("\n").at(-1)
    return "\n" + line.match(/^ */)[0] + (line.trimEnd().endsWith(":") ? "    " : "")
  }
  const isEnter = event => event.key === "Enter" && !event.isComposing && !event.altKey && !event.shiftKey
  const waits = seconds => seconds < SLOW ? "" : "\nIf a loop never ends, press Stop."

  // The files of a task. What the reader writes is kept in the browser.
  const addFile = (box, path, {text, names}) => {
    const bar = make(box, "div", {className: "editor-bar"})
    make(bar, "code", {textContent: path})
    const area = document.createElement("textarea")
    const find = make(make(bar, "label", {textContent: "Go to "}), "select")
    for (const name of names) make(find, "option", {textContent: name})
    const copy = make(bar, "button", {type: "button", textContent: "Copy the file"})
    const restart = make(bar, "button", {type: "button", textContent: "Start over"})
    box.append(area)
    Object.assign(area, {value: saved(path) ?? text, spellcheck: false, wrap: "off", rows: 18, autocapitalize: "off", autocomplete: "off"})
    area.setAttribute("aria-label", path)
    const show = name => {
      const parts = name.split("."), place = area.value.search(new RegExp(`^ *(def|class) ${parts.at(-1)}\\b`, "m"))
      if (place < 0) return
      const line = area.value.slice(0, place).split("\n").length - 1
      area.scrollTop = line * parseFloat(getComputedStyle(area).lineHeight)
      area.setSelectionRange(place, place)
    }
    find.addEventListener("change", () => { show(find.value); area.focus({preventScroll: true}) })
    show(names[0])
    area.addEventListener("input", () => save(path, area.value))
    const refresh = () => { area.value = saved(path) ?? text } // another page may have the same file
    for (const event of ["storage", "pageshow", "focus"]) addEventListener(event, refresh)
    area.addEventListener("keydown", event => {
      if (!isEnter(event) || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      area.setRangeText(lineBreak(area.value.slice(0, area.selectionStart)), area.selectionStart, area.selectionEnd, "end")
      save(path, area.value)
    })
    copy.addEventListener("click", () => { area.select(); document.execCommand("copy") }) // works in a page from the disk, too
    restart.addEventListener("click", () => {
      if (!confirm(`Discard all your changes to ${path}, also those for other tasks?`)) return
      area.value = text
      save(path, null)
      show(names[0])
    })
    return area
  }

  const setUp = box => {
    const given = JSON.parse(box.querySelector("script").textContent)
    const areas = Object.entries(given.files).map(([path, file]) => [path, addFile(box, path, file)])
    const bar = make(box, "div", {className: "editor-bar"})
    const run = make(bar, "button", {type: "button", className: "editor-run", textContent: `Run the tests of Task ${given.task}`})
    const stop = make(bar, "button", {type: "button", textContent: "Stop", disabled: true})
    const result = make(box, "pre", {className: "editor-result"})
    result.setAttribute("aria-live", "polite")
    let worker, current, timer

    const say = (state, text) => { result.dataset.state = state; result.textContent = text }
    const end = (state, text) => {
      clearInterval(timer)
      worker?.terminate()
      current = undefined
      worker = parts && startWorker(parts, ...TESTS) // ready for the next run, which may not see modules of this one
      run.disabled = false
      stop.disabled = true
      say(state, text)
    }
    const begin = async () => {
      run.disabled = true
      stop.disabled = false
      const mine = current = {test: ""}
      try {
        say("running", "Loading Python, once ...")
        parts ??= await getParts(given.python)
        if (mine !== current) return
        worker ??= startWorker(parts, ...TESTS)
        await worker.ready
        if (mine !== current) return
        const began = Date.now()
        worker.onerror = event => mine === current && end("failing", `Python ended: ${event.message}`)
        worker.onmessage = ({data}) => data.result ? end(data.result.state, data.result.text) : (mine.test = data.said)
        worker.postMessage({given: [given.task, {...allSaved(), ...Object.fromEntries(areas.map(([path, area]) => [path, area.value]))}]})
        const tick = () => {
          const seconds = Math.round((Date.now() - began) / 1000)
          say("running", `Running for ${seconds} s. ${mine.test}` + waits(seconds))
        }
        tick()
        timer = setInterval(tick, 500)
      } catch (error) {
        if (mine === current) end("failing", `Python could not be started: ${error.message}`)
      }
    }
    run.addEventListener("click", begin)
    stop.addEventListener("click", () => {
      const test = current?.test
      end("failing", test ? `Stopped during this test: ${test}\nLook for a loop that does not end.` : "Stopped.")
    })
  }

  // The code of a cell, which the reader may change, with its buttons and its output.
  const addCell = (box, number) => {
    const code = box.querySelector(".cell_input pre"), built = box.querySelector(".cell_output"), original = code.innerHTML
    const bar = document.createElement("div")
    box.querySelector(".cell_input").after(bar)
    bar.className = "editor-bar cell-bar"
    bar.setAttribute("role", "group")
    bar.setAttribute("aria-label", `Cell ${number}`)
    make(bar, "span", {textContent: `Cell ${number}`})
    const run = make(bar, "button", {type: "button", textContent: "Run"})
    const reset = make(bar, "button", {type: "button", textContent: "Reset"})
    const status = make(bar, "span")
    status.setAttribute("role", "status")
    const output = document.createElement("pre")
    output.className = "editor-result"
    output.setAttribute("aria-live", "polite")
    bar.after(output)
    code.setAttribute("contenteditable", "plaintext-only")
    if (!code.isContentEditable) code.setAttribute("contenteditable", "true")
    for (const [name, value] of [["role", "textbox"], ["aria-multiline", "true"], ["aria-label", `Code of cell ${number}`]]) code.setAttribute(name, value)
    code.spellcheck = false
    code.addEventListener("keydown", event => {
      event.stopPropagation() // the book has shortcuts, such as / for the search
      if (!isEnter(event) || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      const range = getSelection().getRangeAt(0).cloneRange()
      range.setStart(code, 0)
      const before = range.cloneContents()
      for (const end of before.querySelectorAll("br")) end.replaceWith("\n") // as browsers end a line that is typed
      document.execCommand("insertText", false, lineBreak(before.textContent))
    })
    const show = (state, text) => {
      output.dataset.state = state
      output.textContent = text
      if (built) built.hidden = true
    }
    const restore = () => {
      code.innerHTML = original
      output.textContent = status.textContent = ""
      if (built) built.hidden = false
    }
    return {number, code, run, reset, status, output, show, restore, ran: false}
  }

  const runCell = (worker, cell) => new Promise(resolve => {
    let text = ""
    cell.show("running", "")
    worker.onerror = event => resolve({state: "failing", text: `Python ended: ${event.message}`, ended: true})
    worker.onmessage = ({data}) => {
      if ("said" in data) cell.show("running", text += data.said)
      else resolve({...data.result, text: text + data.result.text})
    }
    worker.postMessage({given: [cell.number, cell.code.innerText]})
  })

  // One Python runs all cells of a page. A cell runs after those above it that have not run, or were changed since.
  const setUpCells = (boxes, url) => {
    const cells = boxes.map((box, i) => addCell(box, i + 1))
    let worker, current, timer
    const change = cell => { for (const each of cells.slice(cell.number - 1)) each.ran = false }
    const end = text => {
      clearInterval(timer)
      current.cell.status.textContent = text
      current.cell.run.textContent = "Run"
      for (const {run} of cells) run.disabled = false
      current = undefined
    }
    const lose = () => {
      worker?.terminate()
      worker = undefined
      change(cells[0])
    }
    const begin = async cell => {
      const mine = current = {cell}
      for (const {run} of cells) run.disabled = run !== cell.run
      cell.run.textContent = "Stop"
      cell.status.textContent = worker ? "Running ..." : "Loading Python, once ..."
      try {
        parts ??= await getParts(url)
        if (mine !== current) return
        worker ??= startWorker(parts, ...CELLS)
        await worker.ready
        if (mine !== current) return
        const began = Date.now()
        timer = setInterval(() => {
          const seconds = Math.round((Date.now() - began) / 1000)
          cell.status.textContent = `Running for ${seconds} s.` + waits(seconds)
        }, 500)
        for (const each of cells.slice(0, cell.number).filter(each => each === cell || !each.ran)) {
          each.ran = true // until it is changed
          const result = await runCell(worker, each)
          if (mine !== current) return
          each.show(result.state, result.text)
          if (result.state === "passed") continue
          each.ran = false
          if (result.ended) lose()
          return end(each === cell ? "" : `Cell ${each.number}, above, failed.`)
        }
        end(cell.output.textContent ? "Done." : "Done; it prints nothing.")
      } catch (error) {
        if (mine !== current) return
        lose()
        end(`Python could not be started: ${error.message}`)
      }
    }
    for (const cell of cells) {
      cell.run.addEventListener("click", () => {
        if (!current) return begin(cell)
        lose()
        end("Stopped.")
      })
      cell.reset.addEventListener("click", () => { change(cell); cell.restore() })
      cell.code.addEventListener("input", () => change(cell))
      cell.code.addEventListener("keydown", event => {
        if (!isEnter(event) || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        if (!current) begin(cell)
      })
    }
  }

  for (const box of document.querySelectorAll("[data-editor]:not([data-ready])")) {
    box.dataset.ready = ""
    setUp(box)
  }
  const cells = document.querySelector("[data-cells]:not([data-ready])")
  if (cells) {
    cells.dataset.ready = ""
    setUpCells([...document.querySelectorAll(".cell.runs")], cells.dataset.cells)
  }
}
