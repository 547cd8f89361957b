// Extras for pages with a script: everything works without it.
'use strict'

const each = (selector, act) => document.querySelectorAll(selector).forEach(act)

// Buttons that copy the text of the element they name.
each('button[data-copy]', button => {
  const text = button.lastChild, label = text.data
  button.hidden = false
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy)
    try {
      await navigator.clipboard.writeText((source.value ?? source.textContent).trim())
      text.data = 'Copied'
    } catch { // no https, or not allowed: the user can still copy the selection
      getSelection().selectAllChildren(source)
      text.data = 'Selected'
    }
    setTimeout(() => { text.data = label }, 2000)
  })
})

// The chosen language of samples is remembered.
each('.languages input', choice => {
  try {
    if (localStorage.getItem('language') === choice.id) choice.checked = true
    choice.addEventListener('change', () => localStorage.setItem('language', choice.id))
  } catch { } // storage may be denied
})

// Times are shown in the reader's time zone, and near ones as relative times.
const units = [['day', 86400], ['hour', 3600], ['minute', 60]]
const relative = new Intl.RelativeTimeFormat(document.documentElement.lang) // "1 day ago" may be two dates back, which is not yesterday
const exact = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' })
const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit' })

function inWords(at) {
  const seconds = (at - Date.now()) / 1000
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? []
  if (!unit) return seconds > 0 ? 'in less than a minute' : 'just now'
  return Math.abs(seconds) < 7 * 86400 ? relative.format(Math.trunc(seconds / size), unit) : short.format(at)
}

function tellTimes() {
  each('time[datetime]', time => {
    const at = new Date(time.dateTime)
    if (isNaN(at)) return
    time.textContent = inWords(at).replace(' at ', ', ')
    time.title = exact.format(at).replace(' at ', ', ')
  })
}
tellTimes()
setInterval(tellTimes, 60000)

// A box that ticks all boxes of its form.
each('input[data-all]', all => {
  all.closest('label').hidden = false
  all.addEventListener('change', () => {
    each(`input[type=checkbox][name="${all.dataset.all}"]`, box => { box.checked = all.checked })
  })
})

// Fields that submit their form on a choice, except by keyboard, where each arrow key makes one: there is a button for that.
each('select[data-submit]', field => {
  let byKey = false
  field.addEventListener('keydown', () => { byKey = true })
  field.addEventListener('pointerdown', () => { byKey = false })
  field.addEventListener('change', () => { if (!byKey) field.form.requestSubmit() })
})

// Buttons that say that they are busy. They can be pressed again: the user may have stopped the browser, and the server does
// a form only once.
addEventListener('submit', event => {
  const button = event.submitter
  if (!button?.dataset.busy) return
  button.dataset.idle ??= button.lastChild.data
  button.lastChild.data = button.dataset.busy
  button.setAttribute('aria-busy', 'true')
})
addEventListener('pageshow', () => each('button[aria-busy]', button => {
  button.lastChild.data = button.dataset.idle
  button.removeAttribute('aria-busy')
}))

// Results of the search, while the user types.
const finder = document.querySelector('.finder')
if (finder) {
  const field = finder.querySelector('input')
  const list = finder.querySelector('.found')
  let wait, latest
  const close = () => { clearTimeout(wait); latest = null; list.hidden = true }
  field.addEventListener('input', () => {
    clearTimeout(wait)
    const text = field.value.trim()
    if (text.length < 2) return close()
    wait = setTimeout(async () => {
      const asked = latest = `${finder.action}?${new URLSearchParams(new FormData(finder))}`
      const answer = await fetch(asked).catch(() => null)
      if (!answer?.ok || asked !== latest) return
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
      const found = page.getElementById('found')
      if (!found || asked !== latest) return
      found.querySelectorAll('[id], [aria-labelledby]').forEach(e => { e.removeAttribute('id'); e.removeAttribute('aria-labelledby') })
      list.replaceChildren(...found.childNodes)
      list.hidden = false
    }, 250)
  })
  finder.addEventListener('keydown', event => {
    if (event.isComposing) return // an input method has its own list
    if (event.key === 'Escape') { close(); field.focus() }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!step || list.hidden) return
    event.preventDefault()
    const stops = [field, ...list.querySelectorAll('a')]
    stops[Math.max(0, Math.min(stops.indexOf(document.activeElement) + step, stops.length - 1))].focus()
  })
  finder.addEventListener('focusout', event => { if (event.relatedTarget && !finder.contains(event.relatedTarget)) close() })
  addEventListener('click', event => { if (!finder.contains(event.target)) close() })
}

// Menus close on a click elsewhere, or with Escape.
const menus = 'details.menu[open]'
addEventListener('click', event => each(menus, menu => { if (!menu.contains(event.target)) menu.open = false }))

// Keys: / searches, Ctrl+S saves, ? lists them.
const keys = document.getElementById('shortcuts')
const typing = event => event.composedPath()[0].closest?.('input, textarea, select, [contenteditable]')

// With Caps Lock the letter differs; on a keyboard of another script, the key in the same place counts.
const isS = event => event.key.toLowerCase() === 's' || event.key > '~' && event.code === 'KeyS'

addEventListener('keydown', event => {
  if (event.key === 'Escape') each(menus, menu => { menu.open = false; menu.querySelector('summary').focus() })
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && isS(event)) {
    const save = document.querySelector('button[data-save]')
    if (save) { event.preventDefault(); save.click() }
    return
  }
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event)) return
  const search = document.querySelector('input[type=search]')
  if (event.key === '/' && search) { event.preventDefault(); search.focus(); search.select() }
  if (event.key === '?' && keys) { event.preventDefault(); keys.showModal() }
})
