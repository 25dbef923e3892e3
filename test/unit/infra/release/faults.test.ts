import { describe, expect, test } from 'vitest'
import { findPlaceholders, findReleaseFaults, type ReleaseFacts } from '../../../../infra/release/faults.ts'

const facts: ReleaseFacts = {
  commit: 'c'.repeat(40),
  tree: 'e'.repeat(40),
  changes: [],
  tags: ['v0.9.0', '2.0.0'],
  version: '1.0.0-rc.1',
  green: `${'e'.repeat(40)}\n`,
  node: { running: '24.21.0', pinned: '24.21.0' },
}

describe('a release', () => {
  test('can be made from a committed, tested tree with a new version', () => {
    expect(findReleaseFaults(facts)).toEqual([])
  })

  test.each<[string, Partial<ReleaseFacts>, RegExp]>([
    [
      'of changed files',
      { changes: ['a.ts', 'b.ts'] },
      /^the checkout differs from its commit: a\.ts, b\.ts\. /,
    ],
    [
      'of many changed files',
      { changes: ['1', '2', '3', '4', '5', '6', '7'] },
      /: 1, 2, 3, 4, 5 and 2 more\. /,
    ],
    ['with a version that has a tag', { tags: ['v1.0.0-rc.1'] }, /^version 1\.0\.0-rc\.1 exists/],
    ['with a version that has a tag without v', { tags: ['1.0.0-rc.1'] }, /^version 1\.0\.0-rc\.1 exists/],
    ['without a run of CI', { green: undefined }, /^\.ci\/run has not succeeded .*e{40}/],
    ["after CI's run for another tree", { green: 'f'.repeat(40) }, /^\.ci\/run has not succeeded/],
    [
      'by another Node',
      { node: { running: '24.20.0', pinned: '24.21.0' } },
      /by Node 24\.21\.0, and this is Node 24\.20\.0/,
    ],
  ])('%s is refused', (_, changed, text) => {
    expect(findReleaseFaults({ ...facts, ...changed })).toEqual([expect.stringMatching(text)])
  })

  test('is refused with all faults together', () => {
    const faults = findReleaseFaults({ ...facts, changes: ['a'], tags: ['v1.0.0-rc.1'], green: undefined })
    expect(faults).toHaveLength(3)
  })
})

describe('an address that is published', () => {
  const own = {
    homepage: 'https://auth.example.com',
    bugs: { url: 'https://forge.example.com/cloud-auth/issues' },
    repository: { url: 'git+https://forge.example.com:8443/cloud-auth.git' },
  }

  test('of its own is no placeholder', () => {
    expect(findPlaceholders(own)).toEqual([])
  })

  test.each([
    ['homepage', { homepage: 'https://cloud-auth.example' }],
    ['bugs', { bugs: { url: 'https://cloud-auth.example/issues' } }],
    ['repository', { repository: { url: 'git+https://cloud-auth.example:443/cloud-auth.git' } }],
  ])('below the domain `example` is a placeholder: %s', (name, placeholder) => {
    expect(findPlaceholders({ ...own, ...placeholder })).toEqual([name])
  })
})
