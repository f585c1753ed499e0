// Runs in a worker, below pyodide.js and pyodide.asm.mjs: starts Python, then runs the tests of one task, or the cells of a page.

const STACK = 128 * 1024 // bytes of Python's stack: the browser's own, which Python does not see, is full when Python uses about 170 kB

let run

const start = async (parts, program, files) => {
  const text = name => new TextDecoder().decode(parts[name])
  self.fetch = async url => new Response(parts[String(url).split("/").at(-1)], {headers: {"Content-Type": "application/wasm"}})
  const python = await loadPyodide({
    indexURL: "https://book.invalid/", // nothing is loaded from there: fetch, above, answers from the parts
    packageBaseUrl: "https://book.invalid/",
    lockFileContents: text("pyodide-lock.json"),
    createPyodideModule: _createPyodideModule,
  })
  const {_PyThreadState_Get, _PyUnstable_ThreadState_SetStackProtection, _emscripten_stack_get_base} = python._module
  _PyUnstable_ThreadState_SetStackProtection(_PyThreadState_Get(), _emscripten_stack_get_base() - STACK, STACK)
  const packages = python.runPython("import site; site.getsitepackages()[0]")
  python.unpackArchive(new Uint8Array(parts["packages.zip"]), "zip", {extractDir: packages})
  python.FS.mkdir("/workspace")
  for (const name of files) python.unpackArchive(new Uint8Array(parts[name]), "zip", {extractDir: "/workspace"})
  python.FS.chdir("/workspace")
  for (const name of ["free_graphs.py", program]) python.runPython(text(name))
  run = given => python.globals.get("run")(...given.map(value => python.toPy(value)), said => self.postMessage({said}))
}

self.onmessage = async ({data}) => {
  try {
    if (data.parts) {
      await start(data.parts, data.program, data.files)
      self.postMessage({ready: true})
    } else {
      self.postMessage({result: JSON.parse(run(data.given))})
    }
  } catch (error) {
    self.postMessage({result: {state: "failing", text: `Python stopped: ${error.message}`, ended: true}})
  }
}
