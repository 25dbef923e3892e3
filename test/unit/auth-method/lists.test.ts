import { describe, expect, test } from 'vitest'
import { decodeTagVariants, denyRoleTag, readDenyEntry } from '../../../shared/auth-method/lists.ts'
import { renderRoleTag } from '../../../shared/auth-method/role-tags/tag.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { Secret } from '../../../shared/values/secret.ts'
import { inEachForm } from '../../builders/base64-forms.ts'
import { usualTag as tag } from '../../builders/ec2-facts.ts'
import { ec2Role } from '../../builders/roles.ts'
import { callWith } from '../../support/requests/call.ts'
import { encrypted, item, plainCipher } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { mount } from '../tokens/support.ts'

const accessor = 'auth_cloud_1'
const NOW = 1_000_000_000_000
const value = renderRoleTag(tag, new Secret('the key'))
const base64 = Buffer.from(value).toString('base64')

async function deny(given: string, { maxTtl = 0, roleMax = 0, again = false, role = true } = {}) {
  const text = maxTtl === 0 ? value : renderRoleTag({ ...tag, maxTtl }, new Secret('the key'))
  const stored = ec2Role({
    hmacKey: encrypted('role', 'dev', 'hmacKey', 'the key'),
    token: { maxTtl: roleMax },
  })
  const items = [
    ...(role ? [item(key('role', accessor, 'dev'), stored)] : []),
    ...(again ? [item(key('deny', accessor, text), { createdAt: 5, expiresAt: 6 })] : []),
  ]
  const call = callWith({
    now: NOW,
    mount: mount({ maxLeaseTtl: 1000 }),
    pathParameters: { role_tag: given === 'the tag' ? text : given },
    ports: { ...memoryStore(items), cipher: plainCipher },
  })
  return (await denyRoleTag(call)).changes
}

describe('denying a role tag', () => {
  test.each([
    ['as it is', value],
    ['as base64', base64],
    ['as URL-safe base64', Buffer.from(value).toString('base64url')],
    ...inEachForm(base64),
    ...inEachForm(Buffer.from(value).toString('base64url')),
  ])('%s is stored under its canonical text', async (_, given) => {
    expect(await deny(given)).toMatchObject([
      { kind: 'put', key: key('deny', accessor, value), expected: 'absent' },
    ])
  })

  test.each([
    ['nothing', '', 'role_tag is required'],
    ['text', 'tag', 'cannot be parsed'],
    ['a tag with a line end', `${value}\n`, 'cannot be parsed'],
    ['base64 of text', Buffer.from('tag').toString('base64'), 'cannot be parsed'],
    ['base64 twice', Buffer.from(base64).toString('base64'), 'cannot be parsed'],
    ['a tag with another signature', renderRoleTag(tag, new Secret('another key')), 'not made for this role'],
    ['a tag with a policy added', value.replace('m=false', 'm=false:p=root'), 'not made for this role'],
  ])('%s is rejected', async (_, given, text) => {
    await expect(deny(given)).rejects.toThrow(text)
  })

  test('denying a tag of a deleted role is rejected', async () => {
    await expect(deny(value, { role: false })).rejects.toThrow('the role of the tag does not exist')
  })

  test.each([
    [0, 0, 1000],
    [0, 600, 1000],
    [5000, 600, 5000],
    [5000, 7000, 7000],
  ])(
    'with tag TTL %i s, role TTL %i s and mount TTL 1000 s, the entry expires after %i s',
    async (maxTtl, roleMax, seconds) => {
      const [change] = (await deny('the tag', { maxTtl, roleMax })) ?? []
      expect(change).toMatchObject({ data: { createdAt: NOW, expiresAt: NOW + seconds * 1000 } })
    },
  )

  test('denying a tag again keeps its creation time', async () => {
    expect(await deny(value, { again: true })).toMatchObject([
      { data: { createdAt: 5, expiresAt: NOW + 1_000_000 }, expected: { rev: 'r1' } },
    ])
  })
})

describe('reading a denied tag', () => {
  const HOUR = 3600
  const EXPIRES = Date.parse('2030-01-01T00:00:00Z')
  const told = async (tidy?: { safetyBuffer: number; disablePeriodicTidy: boolean }) => {
    const items = [
      item(key('deny', accessor, value), { createdAt: NOW, expiresAt: EXPIRES }),
      ...(tidy ? [item(key('tidy-settings', accessor, 'roletag-denylist'), tidy)] : []),
    ]
    const { answer } = await readDenyEntry(
      callWith({ mount: mount(), pathParameters: { role_tag: value }, ports: memoryStore(items) }),
    )
    return answer
  }
  const FOREVER = 'To invalidate all tags of a role permanently, delete the role and create it again'

  test.each<[string, Parameters<typeof told>[0], string]>([
    ['by default', undefined, '2030-01-04T00:00:00Z'],
    ['with another buffer', { safetyBuffer: HOUR, disablePeriodicTidy: false }, '2030-01-01T01:00:00Z'],
  ])(
    'the warning says until when the tag is denied and how to invalidate it permanently: %s',
    async (_, tidy, removed) => {
      expect(await told(tidy)).toMatchObject({
        data: { expiration_time: '2030-01-01T00:00:00Z' },
        warnings: [
          'the tag is denied until at least 2030-01-01T00:00:00Z, and until a scheduled tidy removes the tag’s entry ' +
            `after ${removed}; after that the tag is accepted again. ${FOREVER}`,
        ],
      })
    },
  )

  test('with periodic tidying disabled, the warning says that an operator must run tidy', async () => {
    const { warnings } = await told({ safetyBuffer: HOUR, disablePeriodicTidy: true })
    expect(warnings).toEqual([
      'the tag is denied until at least 2030-01-01T00:00:00Z, and until an operator runs tidy, because ' +
        `periodic tidying is disabled; after that the tag is accepted again. ${FOREVER}`,
    ])
  })
})

test.each([
  ['v1:tag', ['v1:tag']],
  ['dGFn', ['dGFn', 'tag']],
  ['dG\nFn', ['dG\nFn', 'tag']],
  ['_-_-', ['_-_-', Buffer.from('_-_-', 'base64url').toString()]],
])('the path parameter %s is decoded as %j', (given, meanings) => {
  expect(decodeTagVariants(given)).toEqual(meanings)
})
