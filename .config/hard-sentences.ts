/** A sentence of a page, a comment or a test title. `line` is the line on which its paragraph begins. */
export interface Sentence {
  kind: Kind
  line: number
  text: string
}

export type Kind = 'page' | 'comment' | 'title'

/** A habit that makes a sentence hard, with the better wording. */
interface Habit {
  name: string
  instead: string
  matches: (sentence: Sentence) => boolean
}

const LONG_WORDS = 30

const pattern = (name: string, instead: string, expression: RegExp): Habit => ({
  name,
  instead,
  matches: ({ text }) => expression.test(text),
})

/** The habits, in the order in which they are reported. */
export const habits: readonly Habit[] = [
  {
    name: `over ${LONG_WORDS} words`,
    instead: 'one fact per sentence',
    matches: ({ kind, text }) => kind === 'page' && wordsOf(text) > LONG_WORDS,
  },
  pattern(
    'a clause in place of a noun',
    'the noun: the client, the request, the item',
    /(^|[.;:] )(What|Whatever|Who|Whoever|Which)\b(?! (is|are|does|do|did|has|have|it|happens|to)\b[^.]*\?)[^.?]{3,90}?\b(is|are|was|were|has|have|does|gets?|may|can|must|goes|costs?|counts?|ends?|keeps?|takes?)\b/,
  ),
  pattern(
    'whoever',
    'the person or the component',
    /\bwhoever\b|\bnobody (who|that)\b|\bthose who\b|\bthe one (that|who|which)\b/i,
  ),
  pattern(
    'told, heard',
    'report, send, return, log, print',
    /\btold\b|\b(is|are|was|were) (heard|spoken of|known of)\b/i,
  ),
  pattern(
    'a passive of asking',
    'the component that asks',
    /\b(is|are|was|were) (asked|looked at|taken for|held for)\b/i,
  ),
  pattern(
    'an old word',
    'again, must, permanently, in advance, earlier, tolerates',
    /\b(anew|shall|in vain|for good|beforehand|be it|of before|of now|come about|puts? up with|makes? up for)\b/i,
  ),
  pattern(
    'stands, beside',
    'is in, is at, next to',
    /\bstands? (at|beside|before|in|there)\b|\bbeside (it|them|the|a|its|that)\b/i,
  ),
  pattern('is none', 'is not a …', /\bis none\b|\bnot un(?!ique|der|til|ion|it)\w+\b/i),
]

/** The mark that excuses the sentences of its line. A reason follows the mark. */
export const EXCUSE = 'hard-sentence:'

/** Returns the name of the first habit that a sentence has. */
export const habitOf = (sentence: Sentence): Habit | undefined =>
  habits.find(habit => habit.matches(sentence))

/** Reports whether a docstring begins with a clause instead of a verb or a noun. */
export const beginsWithClause = (docstring: string): boolean =>
  /^(What|Whatever|Whether|Who|Whoever|How|Where)\b/.test(docstring)

/** Returns the sentences of a Markdown page, without code blocks, headings and short cells of tables. */
export function sentencesOfPage(page: string): Sentence[] {
  const paragraphs = newParagraphs('page')
  let isCode = false
  for (const [index, line] of page.split('\n').entries()) {
    const isFence = /^\s*```/.test(line)
    if (isFence) isCode = !isCode
    if (isFence || isCode || line.includes(EXCUSE) || /^\s*$|^#|^\|?[-: |]+\|?$/.test(line)) paragraphs.end()
    else if (line.startsWith('|')) {
      paragraphs.end()
      for (const cell of line.split('|').filter(text => wordsOf(text) > 6)) {
        paragraphs.add(cell, index + 1)
        paragraphs.end()
      }
    } else {
      const item = /^\s*([-*]|\d+\.) /.exec(line)?.[0]
      if (item !== undefined) paragraphs.end()
      paragraphs.add(line.slice(item?.length ?? 0), index + 1)
    }
  }
  paragraphs.end()
  return paragraphs.sentences
}

/** Returns the sentences of a module's comments. */
export function sentencesOfComments(code: string): Sentence[] {
  const paragraphs = newParagraphs('comment')
  for (const [index, line] of code.split('\n').entries()) {
    const text = /^\s*(?:\/\/|\*(?!\/)|\/\*\*?)\s?(.*?)(?:\*\/)?$/.exec(line)?.[1]
    if (text === undefined || /biome|@ts-/.test(line) || line.includes(EXCUSE)) {
      paragraphs.end()
      continue
    }
    if (text.startsWith('@')) paragraphs.end()
    paragraphs.add(text.replace(/^@\w+( \w+)?/, ''), index + 1)
  }
  paragraphs.end()
  return paragraphs.sentences
}

/** Returns the titles of a test file. */
export function titlesOf(code: string): Sentence[] {
  // a table of tests has its title in a second pair of brackets
  const title =
    /(?:\b(?:test|it|describe)(?:\.\w+)*(?:\([^'"`\n]*\))?|\))\(\s*(['"`])((?:\\.|(?!\1).)*)\1\s*,/gs
  return [...code.matchAll(title)].map(({ index, 2: text = '' }) => ({
    kind: 'title',
    line: code.slice(0, index).split('\n').length,
    text,
  }))
}

/** Returns the first line of each docstring. */
export function docstringsOf(code: string): Sentence[] {
  const lines = code.split('\n')
  return lines.flatMap((line, index): Sentence[] => {
    const start = /^\s*\/\*\*\s*(.*)$/.exec(line)?.[1]
    if (start === undefined) return []
    const text = start === '' ? (lines[index + 1] ?? '').replace(/^\s*\*\s*/, '') : start
    return [{ kind: 'comment', line: index + 1, text }]
  })
}

const wordsOf = (text: string): number => text.split(/\s+/).filter(Boolean).length

/** Collects lines to paragraphs, and splits paragraphs into sentences of at least four words. */
function newParagraphs(kind: Kind) {
  const sentences: Sentence[] = []
  let lines: string[] = []
  let first = 0
  return {
    sentences,
    add(text: string, line: number): void {
      if (lines.length === 0) first = line
      lines.push(text)
    },
    end(): void {
      const paragraph = lines.join(' ').replace(/\s+/g, ' ').trim()
      for (const text of paragraph.split(/(?<=[.!?])\s+(?=[A-Z`*"])/))
        if (wordsOf(text) >= 4) sentences.push({ kind, line: first, text })
      lines = []
    },
  }
}
