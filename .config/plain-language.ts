// A ratchet for plain language: fails when pages, comments, titles or docstrings have more hard sentences than
// `plain-language.json` allows, and when a commit since its base has a subject over 72 characters.
//   npm run language             counts, and lists the places of what grew
//   npm run language -- --list   lists all places
//   npm run language -- --write  records lower counts
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import {
  beginsWithClause,
  docstringsOf,
  habitOf,
  type Sentence,
  sentencesOfComments,
  sentencesOfPage,
  titlesOf,
} from './hard-sentences.ts'

const SUBJECT_CHARACTERS = 72
const RECORD = new URL('plain-language.json', import.meta.url)

/** Numbers of hard sentences in pages, comments, titles and docstrings. */
type Counts = Record<'pages' | 'comments' | 'titles' | 'docstrings', number>

interface Place extends Sentence {
  file: string
  habit: string
}

const print = (text: string): void => void process.stdout.write(`${text}\n`)

const git = (...args: string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 26 }).trim()

/** Returns the places of hard sentences in all files that git tracks. */
function findPlaces(): Record<keyof Counts, Place[]> {
  const places: Record<keyof Counts, Place[]> = { pages: [], comments: [], titles: [], docstrings: [] }
  const files = git('ls-files', '*.md', '*.ts', '*.mjs', '*.proto').split('\n')
  for (const file of files.filter(name => !/\/gen\/|permissions\.md$/.test(name))) {
    const text = readFileSync(file, 'utf8')
    const add = (kind: keyof Counts, sentences: Sentence[]): void => {
      for (const sentence of sentences) {
        const habit = habitOf(sentence)
        if (habit) places[kind].push({ ...sentence, file, habit: `${habit.name}: ${habit.instead}` })
      }
    }
    if (file.endsWith('.md')) {
      add('pages', sentencesOfPage(text))
      continue
    }
    add('comments', sentencesOfComments(text))
    if (file.endsWith('.test.ts')) add('titles', titlesOf(text))
    for (const docstring of docstringsOf(text).filter(one => beginsWithClause(one.text)))
      places.docstrings.push({ ...docstring, file, habit: 'a clause: begin with a verb or a noun' })
  }
  return places
}

/**
 * Returns the commit subjects since a commit that are too long, or undefined in a shallow clone, which lacks
 * the commit.
 */
function longSubjects(base: string): string[] | undefined {
  if (git('rev-parse', '--is-shallow-repository') === 'true') return undefined
  const lines = git('log', '--no-merges', '--format=%h %s', `${base}..HEAD`).split('\n')
  return lines.filter(line => line.slice(line.indexOf(' ') + 1).length > SUBJECT_CHARACTERS)
}

const { values } = parseArgs({ options: { list: { type: 'boolean' }, write: { type: 'boolean' } } })
const record = JSON.parse(readFileSync(RECORD, 'utf8')) as { base: string; counts: Counts }
const places = findPlaces()
const lowered = { ...record.counts }
for (const [kind, found] of Object.entries(places) as [keyof Counts, Place[]][]) {
  const most = record.counts[kind]
  const hasGrown = found.length > most
  print(`${kind}: ${found.length} hard sentences (at most ${most})`)
  if (hasGrown || values.list)
    for (const { file, line, habit, text } of found) print(`  ${file}:${line} [${habit}]\n    ${text}`)
  if (hasGrown) process.exitCode = 1
  else lowered[kind] = found.length
}
const subjects = longSubjects(record.base)
if (subjects === undefined)
  print('NOT CHECKED: THE SUBJECTS OF COMMITS, because this clone is shallow. Run `git fetch --unshallow`.')
else if (subjects.length > 0) {
  print(`subjects over ${SUBJECT_CHARACTERS} characters:\n  ${subjects.join('\n  ')}`)
  process.exitCode = 1
}
if (values.write) writeFileSync(RECORD, `${JSON.stringify({ ...record, counts: lowered }, undefined, 2)}\n`)
else if (process.exitCode === 1)
  print('Rewrite the sentences (docs/look-up/style.md), or excuse one on its line: `hard-sentence: why`.')
