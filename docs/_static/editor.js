// The editors of tasks. What the reader writes is kept in the browser; a worker, which can be stopped, runs its tests in Python.
"use strict"

{
  const PREFIX = "minitorch:"
  const SLOW = 20 // seconds after which a loop without end is likely
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
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0))
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer()
  }
  const getParts = async url => {
    await load(url)
    const names = Object.keys(globalThis.pythonParts)
    const buffers = await Promise.all(names.map(name => inflate(globalThis.pythonParts[name])))
    delete globalThis.pythonParts
    return Object.fromEntries(names.map((name, i) => [name, buffers[i]]))
  }

  // A worker that has started Python. Each runs the tests once, so that no run sees modules of an earlier one.
  const startWorker = parts => {
    const rule = "self.importScripts = undefined\n" // Pyodide refuses a worker that is not a module, which a page on the disk may not start
    const code = [rule, ...["pyodide.js", "pyodide.asm.mjs", "worker.js"].flatMap(name => [parts[name], "\n"])]
    const url = URL.createObjectURL(new Blob(code, {type: "text/javascript"}))
    const worker = new Worker(url)
    worker.ready = new Promise((resolve, reject) => {
      worker.onmessage = ({data}) => { URL.revokeObjectURL(url); data.ready ? resolve() : reject(new Error(data.result.text)) }
      worker.onerror = event => reject(new Error(event.message))
    })
    worker.ready.catch(() => {})
    worker.postMessage({parts})
    return worker
  }

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
      if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      const before = area.value.slice(0, area.selectionStart).split("\n").at(-1)
      const indent = before.match(/^ */)[0] + (before.trimEnd().endsWith(":") ? "    " : "")
      area.setRangeText("\n" + indent, area.selectionStart, area.selectionEnd, "end")
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
      worker = parts && startWorker(parts) // ready for the next run
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
        worker ??= startWorker(parts)
        await worker.ready
        if (mine !== current) return
        const began = Date.now()
        worker.onerror = event => mine === current && end("failing", `Python ended: ${event.message}`)
        worker.onmessage = ({data}) => data.result ? end(data.result.state, data.result.text) : (mine.test = data.test)
        worker.postMessage({task: given.task, files: {...allSaved(), ...Object.fromEntries(areas.map(([path, area]) => [path, area.value]))}})
        const tick = () => {
          const seconds = Math.round((Date.now() - began) / 1000)
          say("running", `Running for ${seconds} s. ${mine.test}` + (seconds < SLOW ? "" : "\nIf a loop never ends, press Stop."))
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

  for (const box of document.querySelectorAll("[data-editor]:not([data-ready])")) {
    box.dataset.ready = ""
    setUp(box)
  }
}
