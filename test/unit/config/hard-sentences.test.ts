import { describe, expect, test } from 'vitest'
import {
  beginsWithClause,
  docstringsOf,
  habitOf,
  sentencesOfComments,
  sentencesOfPage,
  titlesOf,
} from '../../../.config/hard-sentences.ts'

const habit = (text: string, kind: 'page' | 'comment' | 'title' = 'page') =>
  habitOf({ kind, line: 1, text })?.name

describe('habits that the plain-language check reports', () => {
  test.each([
    ['What is no readable request is refused with a body.', 'a clause in place of a noun'],
    ['The first sync begins for whoever joins the set.', 'whoever'],
    ['Every secondary has told that it has applied the entry.', 'told, heard'],
    ['The slot is looked at before the key.', 'a passive of asking'],
    ['The item is written anew.', 'an old word'],
    ['The rule stands beside the table.', 'stands, beside'],
    ['A token that is none is refused.', 'is none'],
    [Array(31).fill('word').join(' '), 'over 30 words'],
  ])('%s', (text, name) => {
    expect(habit(text)).toBe(name)
  })

  test.each([
    'Malformed HTTP requests get a JSON error body.',
    'Every secondary has acknowledged the last entry.',
    'Who may promote?',
    Array(30).fill('word').join(' '),
  ])('a plain sentence has no reported habit: %s', text => {
    expect(habit(text)).toBeUndefined()
  })

  test('a long sentence is reported in a page only', () => {
    expect(habit(Array(31).fill('word').join(' '), 'comment')).toBeUndefined()
  })

  test('the check tells docstrings that begin with a clause from docstrings that begin with a verb', () => {
    expect(beginsWithClause('Whether a lease is due.')).toBe(true)
    expect(beginsWithClause('Reports whether a lease is due.')).toBe(false)
  })
})

describe('sentences that the plain-language check reads', () => {
  test('of a page, paragraphs, list items and long cells are read, and no code', () => {
    const page = [
      '# A heading that is no sentence',
      'The primary sends entries.',
      'The secondary applies them at once. It then acknowledges.',
      '```sh',
      'this is a command line',
      '```',
      '- The first item of it.',
      '| a short cell | this cell has seven words in all |',
    ].join('\n')
    expect(sentencesOfPage(page).map(({ line, text }) => [line, text])).toEqual([
      [2, 'The primary sends entries.'],
      [2, 'The secondary applies them at once.'],
      [7, 'The first item of it.'],
      [8, 'this cell has seven words in all'],
    ])
  })

  test('a line with an excuse is not read', () => {
    const page =
      'Vault answers "told you so" here. <!-- hard-sentence: text of Vault -->\n\nThe next paragraph is read.'
    expect(sentencesOfPage(page).map(({ text }) => text)).toEqual(['The next paragraph is read.'])
  })

  test('comments and docstrings are read without their comment marks', () => {
    const code =
      '/**\n * What the lease holds.\n * @returns the holder of it\n */\nconst a = 1 // at the end\n// one more comment here\n'
    expect(sentencesOfComments(code).map(({ text }) => text)).toEqual([
      'What the lease holds.',
      'one more comment here',
    ])
    expect(docstringsOf(code).map(({ line, text }) => [line, text])).toEqual([[1, 'What the lease holds.']])
  })

  test('test titles are read from tests and from tables of tests', () => {
    const code = "describe('a lease', () => {\n  test.each([['x']])('ends after %s', () => {})\n})\n"
    expect(titlesOf(code).map(({ line, text }) => [line, text])).toEqual([
      [1, 'a lease'],
      [2, 'ends after %s'],
    ])
  })
})
