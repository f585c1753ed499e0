// The browser's history has one entry for each visit of a page, with the last settings of that visit.
//
// Streamlit adds an entry for each setting that the program changes. When another page opens, it first adds one of the current page
// without its settings, and Back would lead there. Here, a changed setting replaces the entry, and a page that is left keeps its own.
if (!window.onePageOneEntry) {
    window.onePageOneEntry = true;
    const push = history.pushState.bind(history);
    let leaving = false;
    addEventListener('click', event => {
        const link = event.defaultPrevented && event.target.closest('a[href]'); // otherwise the browser opens it, in another tab for example
        leaving = Boolean(link) && link.pathname !== location.pathname;
    });
    history.pushState = (state, title, address) => {
        const {pathname, search} = new URL(address, location);
        const isOther = pathname !== location.pathname;
        if (isOther) push(state, title, address);
        else if (!leaving || search) history.replaceState(state, title, address);
        leaving &&= !isOther;
    };
}
