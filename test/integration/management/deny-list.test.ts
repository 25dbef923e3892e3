import { beforeAll, describe, expect, test } from 'vitest'
import { base64Forms } from '../../builders/base64-forms.ts'
import { api, done, eventually, freshMount } from '../../support/service/cluster.ts'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  await done('POST', `${mount}/role/dev`, {
    auth_type: 'ec2',
    bound_region: 'x',
    role_tag: 'CloudRole',
    token_policies: ['dev', ...ODD],
  })
})

const freshTag = async (body: unknown = {}, at = mount): Promise<string> =>
  (await done('POST', `${at}/role/dev/tag`, body)).body.data.tag_value

/** Makes role tags until one of them has, in some encoding, characters that are special in a path. */
const tagWith = (pattern: RegExp, text: (tag: string) => string) =>
  eventually(async () => {
    const tag = await freshTag({ policies: ODD })
    return pattern.test(text(tag)) && tag
  })

// values whose base64 contains "/" and "+"
const ODD = ['a>>>', 'b~~~', 'c???']

const base64 = (tag: string) => Buffer.from(tag).toString('base64')
const base64url = (tag: string) => Buffer.from(tag).toString('base64url')

const spellings: Record<string, (tag: string) => string> = {
  unencoded: tag => tag,
  'percent-encoded': encodeURIComponent,
  'percent-encoded throughout': tag => Buffer.from(tag).toString('hex').replace(/../g, '%$&'),
  base64: base64,
  'base64, percent-encoded': tag => encodeURIComponent(base64(tag)),
  ...Object.fromEntries(
    Object.entries(base64Forms).map(([form, write]) => [
      `base64, ${form}`,
      (tag: string) => encodeURIComponent(write(base64(tag))),
    ]),
  ),
  'URL-safe base64': base64url,
  'URL-safe base64 with padding': tag => base64(tag).replaceAll('+', '-').replaceAll('/', '_'),
}

describe('the deny list accepts every encoding of a tag', () => {
  const paths = ['roletag-denylist', 'roletag-blacklist']
  const rows = Object.keys(spellings).flatMap(name => paths.map(path => [path, name] as const))

  test.each(rows)('%s: %s', async (path, name) => {
    const tag = await freshTag()
    const place = `${mount}/${path}/${spellings[name]?.(tag)}`
    expect((await api('GET', place)).status).toBe(404)
    expect((await api('POST', place)).status).toBe(204)
    expect((await done('LIST', `${mount}/roletag-denylist`)).body.data.keys).toContain(tag)
    // the list shows that every spelling is stored as the tag, so it is enough to read each spelling where it was written
    for (const other of paths) {
      const { status, body } = await api('GET', `${mount}/${other}/${spellings[name]?.(tag)}`)
      expect(status).toBe(200)
      expect(Object.keys(body.data).sort()).toEqual(['creation_time', 'expiration_time'])
    }
    expect((await api('DELETE', place)).status).toBe(204)
    expect((await api('GET', `${mount}/roletag-denylist/${tag}`)).status).toBe(404)
    expect((await api('DELETE', place)).status).toBe(204)
  })

  const awkward: [title: string, pattern: RegExp, text: (tag: string) => string][] = [
    ['base64 with slash and plus', /\/.*\+|\+.*\//, base64],
    ['URL-safe base64 with - and _', /-.*_|_.*-/, base64url],
  ]
  test.each(awkward)('%s is accepted plain and percent-encoded', async (_, pattern, text) => {
    const tag = await tagWith(pattern, text)
    for (const spelt of [text(tag), encodeURIComponent(text(tag))]) {
      await done('POST', `${mount}/roletag-denylist/${spelt}`)
      expect((await done('LIST', `${mount}/roletag-denylist`)).body.data.keys).toContain(tag)
      await done('DELETE', `${mount}/roletag-denylist/${spelt}`)
      expect((await api('GET', `${mount}/roletag-denylist/${tag}`)).status).toBe(404)
    }
  })

  test('a tag with unencoded slash and plus is accepted', async () => {
    const tag = await eventually(async () => {
      const made = await freshTag()
      return /\/.*\+|\+.*\//.test(made) && made
    })
    await done('POST', `${mount}/roletag-denylist/${tag}`)
    expect((await done('LIST', `${mount}/roletag-denylist`)).body.data.keys).toContain(tag)
  })

  test('a double slash is allowed in a tag', async () => {
    expect((await api('GET', `${mount}/roletag-denylist/a//b`)).status).toBe(404)
  })
})

describe('an entry of the deny list for role tags', () => {
  const times = async (tag: string) => {
    const { creation_time, expiration_time } = (await done('GET', `${mount}/roletag-denylist/${tag}`)).body
      .data
    return { created: Date.parse(creation_time), expires: Date.parse(expiration_time) }
  }
  const MOUNT_MAX = 768 * 3600

  test.each([
    ["the mount's maximum", {}, {}, MOUNT_MAX],
    ["the role's maximum, if longer", { token_max_ttl: '800h' }, {}, 800 * 3600],
    ["the tag's maximum, if longer", {}, { max_ttl: '900h' }, 900 * 3600],
  ])('lasts for %s', async (_, role, body, seconds) => {
    const { path } = await freshMount()
    await done('POST', `${path}/role/dev`, { auth_type: 'ec2', bound_region: 'x', role_tag: 'T', ...role })
    const tag = await freshTag(body, path)
    await done('POST', `${path}/roletag-denylist/${tag}`)
    const { creation_time, expiration_time } = (await done('GET', `${path}/roletag-denylist/${tag}`)).body
      .data
    expect(Date.parse(expiration_time) - Date.parse(creation_time)).toBe(seconds * 1000)
  })

  test('whose tag is denied again gets a later expiration and keeps its creation time', async () => {
    const tag = await freshTag()
    await done('POST', `${mount}/roletag-denylist/${tag}`)
    const before = await times(tag)
    await done('PUT', `${mount}/roletag-denylist/${base64(tag)}`)
    const after = await times(tag)
    expect(after.created).toBe(before.created)
    expect(after.expires).toBeGreaterThan(before.expires)
  })

  test('an empty list answers 404, and an empty name is rejected', async () => {
    const { path } = await freshMount()
    expect((await api('LIST', `${path}/roletag-denylist`)).body).toEqual({ errors: [] })
    for (const method of ['POST', 'GET', 'DELETE']) {
      const reply = await api(method, `${path}/roletag-denylist/`)
      expect([reply.status, reply.body.errors]).toEqual([400, ['role_tag is required']])
    }
  })

  test('only a genuine tag of an existing role can be denied', async () => {
    const tag = await freshTag()
    const [version, nonce, ...rest] = tag.split(':')
    const READ = 'not a valid role tag: the tag cannot be parsed'
    const ROLE = 'not a valid role tag: the role of the tag does not exist'
    const MADE = 'not a valid role tag: the tag was not made for this role'
    const rows = {
      x: READ,
      'v1:x': READ,
      [[version, nonce, 'd=true', ...rest].join(':')]: READ,
      [tag.replace('d=false', 'd=F')]: READ,
      [`${tag} `]: READ,
      [tag.slice(0, -1)]: READ,
      [tag.replace('r=dev', 'r=other')]: ROLE,
      [tag.replace('r=dev', 'r=DEV')]: READ,
      [tag.replace('d=false', 'd=true')]: MADE,
      [tag.replace('m=false', 'm=false:p=dev')]: MADE,
      [`v1:AAAAAAAAAAA=:${rest.join(':')}`]: MADE,
    }
    for (const [text, message] of Object.entries(rows))
      for (const spelt of [encodeURIComponent(text), base64url(text)]) {
        const reply = await api('POST', `${mount}/roletag-denylist/${spelt}`)
        expect([reply.status, reply.body?.errors], text).toEqual([400, [message]])
      }
    for (const odd of [
      '%ff%fe',
      'x'.repeat(3000),
      encodeURIComponent('é\u{1f600}'),
      '__proto__',
      '%25',
      '%',
    ]) {
      expect((await api('POST', `${mount}/roletag-denylist/${odd}`)).status, odd).toBe(400)
      expect([204, 400]).toContain((await api('DELETE', `${mount}/roletag-denylist/${odd}`)).status)
      expect([400, 404]).toContain((await api('GET', `${mount}/roletag-denylist/${odd}`)).status)
    }
  })

  test('a tag of a recreated role is rejected', async () => {
    const { path } = await freshMount()
    const role = { auth_type: 'ec2', bound_region: 'x', role_tag: 'T' }
    await done('POST', `${path}/role/dev`, role)
    const tag = await freshTag({}, path)
    await done('DELETE', `${path}/role/dev`)
    expect((await api('POST', `${path}/roletag-denylist/${tag}`)).body.errors).toEqual([
      'not a valid role tag: the role of the tag does not exist',
    ])
    await done('POST', `${path}/role/dev`, role)
    expect((await api('POST', `${path}/roletag-denylist/${tag}`)).body.errors).toEqual([
      'not a valid role tag: the tag was not made for this role',
    ])
  })
})
