// The editor on the page of an app's files. It replaces the text areas of the form, and fills them
// when the form is sent. It is in a shadow root: there its styles are constructed sheets, which the
// page's policy allows.
import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history as undo, historyKeymap, indentWithTab } from '@codemirror/commands'
import { css } from '@codemirror/lang-css'
import { html } from '@codemirror/lang-html'
import { javascript } from '@codemirror/lang-javascript'
import { json } from '@codemirror/lang-json'
import { markdown } from '@codemirror/lang-markdown'
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'

const languages: Record<string, () => Extension> = {
  ts: () => javascript({ typescript: true }), tsx: () => javascript({ typescript: true, jsx: true }),
  js: () => javascript(), mjs: () => javascript(), jsx: () => javascript({ jsx: true }),
  css, html, svg: html, json, md: markdown,
}

// The language of a file follows its typed name.
const language = new Compartment()

function languageOf(name: string): Extension {
  const ending = name.split('.').pop()!
  return Object.hasOwn(languages, ending) ? languages[ending]() : []
}

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.tagName], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.regexp, tags.attributeValue], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--code-number)' },
  { tag: [tags.comment, tags.meta], color: 'var(--soft)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.className, tags.attributeName, tags.heading], color: 'var(--code-type)' },
  { tag: tags.heading, fontWeight: 'bold' },
  { tag: tags.invalid, color: 'var(--fault)' },
])

const look = EditorView.theme({
  '&': { color: 'var(--strong)', backgroundColor: 'var(--card)', border: '1px solid var(--edge)', borderRadius: '8px', minHeight: '20rem', maxHeight: '75vh', fontSize: '.9rem' },
  '&.cm-focused': { outline: '3px solid var(--accent)', outlineOffset: '2px' },
  '.cm-scroller': { fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace', lineHeight: '1.55', borderRadius: '8px' },
  '.cm-content': { caretColor: 'var(--strong)' },
  '.cm-cursor': { borderLeftColor: 'var(--strong)' },
  '.cm-gutters': { color: 'var(--soft)', backgroundColor: 'var(--sunk)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--tint) 55%, transparent)' },
  '& .cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': { background: 'color-mix(in srgb, var(--accent) 25%, transparent)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--tint)' },
  '.cm-panels, .cm-tooltip': { color: 'var(--text)', backgroundColor: 'var(--sunk)', borderColor: 'var(--line)' },
  '.cm-button, .cm-textfield': { color: 'var(--text)', background: 'var(--card)', border: '1px solid var(--edge)', borderRadius: '6px', padding: '.2rem .6rem' },
  '.cm-diagnostic': { fontFamily: 'system-ui, sans-serif', padding: '.4rem .7rem' },
})

const form = document.querySelector<HTMLFormElement>('form.files')
const names = new Map<HTMLElement, string>()
const editors = new Map<HTMLElement, EditorView>()

const textOf = (file: HTMLElement) => file.querySelector<HTMLTextAreaElement>('textarea')
const nameField = (file: HTMLElement) => file.querySelector<HTMLInputElement>('[name=filename]')!
const nameOf = (file: HTMLElement) => nameField(file).value
const hashOf = (file: HTMLElement) => file.querySelector<HTMLInputElement>('[name=sha256]')!.value
const tree = document.querySelector<HTMLElement>('.tree')
const typed = (file: HTMLElement) => editors.get(file)!.state.doc.toString()
const stored = (file: HTMLElement) => textOf(file)!.dataset.stored ?? textOf(file)!.defaultValue
const dirty = (file: HTMLElement) => editors.has(file) && (typed(file) !== stored(file) || !hashOf(file) && nameOf(file) !== '')

// Typed text is kept until it is saved: it survives a visit to another page, the end of the session
// and a server that does not answer. Only the user who typed it sees it, not the next one to sign in.
interface Draft { hash: string, text: string, name?: string, sentAs: string }

const keyOf = (name: string) => `foyer ${form!.dataset.person} ${location.pathname} ${name}`
const offered = new Set<HTMLElement>() // files whose drafts were offered and not shown yet
let sent = false

function keep(file: HTMLElement) {
  if (offered.has(file)) return
  const key = keyOf(names.get(file)!)
  const name = nameOf(file).trim()
  const kept: Draft = { hash: hashOf(file), text: typed(file), name, sentAs: sent ? name : '' }
  try {
    if (dirty(file)) sessionStorage.setItem(key, JSON.stringify(kept))
    else sessionStorage.removeItem(key)
  } catch { /* there is no room, or none is given */ }
}

function draft(name: string): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(name)) ?? 'null')
  } catch {
    return null
  }
}

// A new file is saved once the tree has the name that it was sent with, unless the save was refused.
function dropSaved() {
  if (document.querySelector('#faults')) return
  const name = draft('')?.sentAs
  if (name && tree?.querySelector(`a[data-file="${CSS.escape(name)}"]`)) sessionStorage.removeItem(keyOf(''))
}

// The message of the next version is kept, too, until the page says what was done. Deleting all open files leads to
// another page, so their message is dropped when the form is sent.
function keepMessage(field: HTMLInputElement) {
  const key = `foyer-message ${form!.dataset.person} ${location.pathname}`
  const store = (text: string) => {
    try { sessionStorage.setItem(key, text) } catch { /* there is no room, or none is given */ }
  }
  if (document.querySelector('.flash')) store('')
  try { field.value ||= sessionStorage.getItem(key) ?? '' } catch { /* none is given */ }
  field.addEventListener('input', () => store(field.value))
  form!.addEventListener('submit', () => {
    if (files().every(file => file.querySelector<HTMLInputElement>('[name=delete]')?.checked)) store('')
  })
}

// Shows the compiler's error in its line.
function diagnose(view: EditorView, file: HTMLElement) {
  const { line, column, error } = file.dataset
  if (!error) return
  const { doc } = view.state
  const at = doc.line(Math.min(Math.max(Number(line), 1), doc.lines))
  const from = at.from + [...at.text].slice(0, Math.max(Number(column) - 1, 0)).join('').length
  view.dispatch(setDiagnostics(view.state, [{ from, to: Math.min(from + 1, at.to), severity: 'error', message: error }]))
  view.dispatch({ effects: EditorView.scrollIntoView(from, { y: 'center' }) })
}

function mark(file: HTMLElement) {
  tree?.querySelectorAll<HTMLElement>('a[data-file]').forEach(link => {
    if (link.dataset.file === names.get(file)) link.classList.toggle('dirty', dirty(file))
  })
}

const later = new Map<HTMLElement, number>()

function changed(file: HTMLElement) {
  clearTimeout(later.get(file))
  later.set(file, setTimeout(() => { keep(file); mark(file) }, 300))
}

function edit(file: HTMLElement) {
  names.set(file, hashOf(file) ? nameOf(file) : '') // a new file may have the name of another
  const area = textOf(file)
  if (!area) return
  const host = document.createElement('div')
  area.after(host)
  const root = host.attachShadow({ mode: 'open' })
  const label = file.querySelector('label[for="' + area.id + '"]')?.textContent ?? ''
  const view = new EditorView({
    root, parent: root,
    state: EditorState.create({
      doc: area.value,
      extensions: [
        lineNumbers(), lintGutter(), highlightActiveLineGutter(), highlightActiveLine(), undo(), drawSelection(), indentOnInput(),
        bracketMatching(), closeBrackets(), highlightSelectionMatches(), search({ top: true }), EditorState.tabSize.of(4), look, syntaxHighlighting(colors),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorView.updateListener.of(update => { if (update.docChanged) changed(file) }),
        language.of(languageOf(nameOf(file))),
      ],
    }),
  })
  editors.set(file, view)
  nameField(file).addEventListener('input', () => changed(file))
  nameField(file).addEventListener('change', () => view.dispatch({ effects: language.reconfigure(languageOf(nameOf(file))) }))
  area.hidden = true
  area.required = false
  diagnose(view, file)
  restore(view, file)
  mark(file)
}

function restore(view: EditorView, file: HTMLElement) {
  const kept = draft(names.get(file)!)
  if (!kept || kept.text === typed(file) && (hashOf(file) || kept.name === nameOf(file))) return keep(file)
  const ours = kept.hash === hashOf(file) && (!kept.name || !nameOf(file) || kept.name === nameOf(file))
  const note = document.createElement('p')
  note.className = 'note'
  note.setAttribute('role', 'status')
  note.append(kept.hash === hashOf(file) ? 'You have not saved what you typed here. ' : 'You have not saved what you typed here, and the file has changed since. ')
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'small quiet'
  note.append(button)
  file.prepend(note)
  offered.add(file)
  let other = { text: kept.text, name: kept.name ?? '' } // drafts of earlier releases may have no name
  const swap = () => {
    offered.delete(file)
    const now = { text: typed(file), name: nameOf(file) }
    if (!hashOf(file)) nameField(file).value = other.name
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: other.text }, effects: language.reconfigure(languageOf(nameOf(file))) })
    other = now
    button.textContent = button.textContent === 'Show what is saved' ? 'Show what you typed' : 'Show what is saved'
    changed(file)
  }
  button.textContent = 'Show what you typed'
  button.addEventListener('click', swap)
  if (ours) swap()
}

// The files of the form are shown one at a time. Choosing a file of the tree adds it to the form, so
// that several files are saved as one version.
const files = () => [...form!.querySelectorAll<HTMLElement>('.file')]

// An empty new file is sent only while it is shown: its name is required.
const empty = (file: HTMLElement) => !nameOf(file) && !dirty(file)

function show(file: HTMLElement) {
  files().forEach(other => {
    other.hidden = other !== file
    const unsent = other.hidden && empty(other)
    other.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('input, textarea').forEach(field => { field.disabled = unsent })
  })
  tree?.querySelectorAll<HTMLElement>('a[data-file]').forEach(link => {
    if (link.dataset.file === names.get(file)) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  })
  const name = names.get(file)
  document.querySelector('h1')!.textContent = name || 'Add a file'
  editors.get(file)?.requestMeasure()
}

const opened = (name?: string) => files().find(file => names.get(file) === name)

// A save with a key leads to a page that begins where the user was typing. What is wrong comes first.
const placeKey = () => `foyer-place ${form!.dataset.person} ${location.pathname}`

function keepPlace(file: HTMLElement, view: EditorView) {
  const place = { name: nameOf(file).trim(), at: view.state.selection.main.head }
  try { sessionStorage.setItem(placeKey(), JSON.stringify(place)) } catch { /* there is no room, or none is given */ }
}

function returnToPlace() {
  let place: { name: string, at: number } | null = null
  try {
    place = JSON.parse(sessionStorage.getItem(placeKey()) ?? 'null')
    sessionStorage.removeItem(placeKey())
  } catch { /* none is given */ }
  const file = files().find(file => nameOf(file) === place?.name), view = file && editors.get(file)
  if (!place || !view || document.querySelector('#faults') || files().some(other => other.dataset.error && other !== file)) return
  show(file)
  const anchor = Math.min(place.at, view.state.doc.length)
  view.dispatch({ selection: { anchor }, effects: file.dataset.error ? [] : EditorView.scrollIntoView(anchor, { y: 'center' }) })
  view.focus()
}

// Adds a file of the tree to the form. A second click may have added it meanwhile.
async function fetched(link: HTMLAnchorElement) {
  const text = await fetch(link.href).then(answer => answer.ok ? answer.text() : '').catch(() => '')
  const found = new DOMParser().parseFromString(text, 'text/html').querySelector<HTMLElement>('form.files .file')
  const there = opened(link.dataset.file)
  if (there || !found) return there
  const file = document.adoptNode(found)
  const id = 'chosen-' + (files().length + 1)
  const area = textOf(file)
  if (area) file.querySelector('label[for="' + area.id + '"]')?.setAttribute('for', id)
  const marked = area ?? file.querySelector('#text') // the note about a picture
  if (marked) marked.id = id
  file.hidden = true
  files().at(-1)!.after(file)
  edit(file)
  return file
}

// What was chosen last is shown. A file that was chosen before it and loads slowly must not get what is typed.
let chosen: HTMLAnchorElement

async function open(link: HTMLAnchorElement) {
  chosen = link
  const file = opened(link.dataset.file) ?? await fetched(link)
  if (chosen !== link) return
  if (!file) { location.assign(link.href); return }
  show(file)
  history.replaceState(null, '', link.href) // the address can be shared; going back leaves the page
  editors.get(file)?.focus()
}

if (form) {
  document.querySelectorAll<HTMLElement>('.keys').forEach(note => { note.hidden = false })
  document.querySelectorAll<HTMLElement>('.together').forEach(way => { way.hidden = true })
  dropSaved()
  keepMessage(form.querySelector<HTMLInputElement>('[name=message]')!)
  files().forEach(edit)
  const first = files().find(file => file.dataset.error || file.querySelector('[aria-invalid]')) ?? files()[0]
  if (first) show(first)
  returnToPlace()
  tree?.addEventListener('click', event => {
    const link = (event.target as HTMLElement).closest<HTMLAnchorElement>('a[data-file]')
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    void open(link)
  })
  document.querySelectorAll<HTMLAnchorElement>('#faults a').forEach(link => link.addEventListener('click', event => {
    const field = document.getElementById(link.hash.slice(1))
    const file = field?.closest<HTMLElement>('.file')
    if (!file) return
    event.preventDefault()
    show(file)
    if (field!.hidden) editors.get(file)?.focus()
    else field!.focus()
  }))
  form.addEventListener('invalid', event => { // the browser shows no message for a hidden file
    const file = (event.target as HTMLElement).closest<HTMLElement>('.file')
    if (file) show(file)
  }, true)
  form.addEventListener('submit', () => {
    sent = true
    editors.forEach((view, file) => {
      if (view.hasFocus) keepPlace(file, view)
      textOf(file)!.value = typed(file)
      keep(file)
    })
  })
  addEventListener('pageshow', () => { sent = false })
  addEventListener('beforeunload', event => {
    const unsaved = [...editors.keys()].filter(dirty)
    unsaved.forEach(keep)
    if (!sent && unsaved.length > 0) event.preventDefault()
  })
}
