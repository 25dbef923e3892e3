import { expect, test } from 'vitest'
import { alarming } from '../../../shared/api/alarming.ts'
import { watchLicence } from '../../../shared/cluster/watch-licence.ts'
import type { Ports } from '../../../shared/ports.ts'
import { licenceKey, licenceText } from '../../builders/licence.ts'

const DAY = 86_400
const NOW = 1_800_000_000
const { privateKey, publicKey } = licenceKey()

test.each([
  ['a month and more', 31, undefined],
  ['less than a month', 29.5, 29],
  ['a day', 1, 1],
  ['none, and a bit', -0.5, -1],
])('of a licence that runs for %s a line is written each hour, or not yet', (_, days, expected) => {
  const lines: unknown[] = []
  const text = licenceText(privateKey, { exp: NOW + days * DAY })
  watchLicence({
    deployment: { license: { text, publicKey } },
    clock: { now: () => NOW * 1000 },
    log: { warn: (message: string, fields: object) => void lines.push([message, fields]) },
  } as unknown as Ports)
  expect(lines).toEqual(
    expected === undefined ? [] : [[alarming.licence, expect.objectContaining({ days: expected })]],
  )
})

test('a deployment without a licence is told nothing', () => {
  const log = { warn: () => expect.unreachable() }
  watchLicence({ deployment: { license: { text: '', publicKey: '' } }, log } as unknown as Ports)
})
