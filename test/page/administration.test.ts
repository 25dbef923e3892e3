import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLoginProof, demonstrateLogins } from '../../infra/local/commands/start/demonstration.ts'
import { type LocalHost, startLocalHost } from '../../infra/local/host/host.ts'
import { requestHost } from '../../infra/local/pair/dr-client.ts'
import { type Opened, openBrowser, opened, shots } from './browser.ts'

let browser: Browser
let host: LocalHost
beforeAll(async () => {
  browser = await openBrowser()
  host = await startLocalHost({ cluster: 'administration', port: 0, memory: true, unlisted: true })
  await demonstrateLogins(host, () => ({}))
})
afterAll(async () => {
  await browser?.close()
  await host?.close()
})

const PATIENCE = { timeout: 30_000 }

const write = (path: string, body: object) => requestHost(host, path, body)
const read = async (path: string) => (await requestHost(host, path, undefined)).data ?? {}

/** Creates a token with one policy. */
async function tokenWith(name: string, policy: string): Promise<string> {
  await write(`sys/policies/acl/${name}`, { policy })
  const { auth } = await write('auth/token/create', { policies: [name] })
  return auth?.client_token ?? ''
}

/** Opens the page with a token. `writes` collects the requests that change something. */
async function openPage(
  token = host.root_token,
): Promise<Opened & { writes: [path: string, body: unknown][] }> {
  const all = await opened(browser, new URL('/ui/', host.base_url).href)
  const writes: [string, unknown][] = []
  all.page.on('request', request => {
    const path = new URL(request.url()).pathname.replace('/v1/', '')
    const isWrite = request.method() !== 'GET' && path !== 'sys/capabilities-self'
    if (isWrite) writes.push([path, request.postDataJSON() ?? request.method()])
  })
  await all.page.fill('#token', token)
  await all.page.press('#token', 'Enter')
  return { ...all, writes }
}

async function openRole(page: Page, mount: string, role: string): Promise<void> {
  await page.fill('#role-mount', mount)
  await page.fill('#role-name', role)
  await page.click('#role-form button')
  await page.waitForSelector(`#role-shown h3`, PATIENCE)
}

async function openPolicy(page: Page, name: string): Promise<void> {
  await page.fill('#policy-name', name)
  await page.click('#policy-form button')
  await page.waitForSelector(`#policy-shown h3`, PATIENCE)
}

/** Opens the folded part of an area that has a title. */
const unfold = (page: Page, area: string, title: string) =>
  page.click(`#${area}-shown summary:text-is("${title}")`)

/** Waits until an element contains a text. */
const says = async (page: Page, selector: string, text: RegExp | string) =>
  expect.poll(() => page.textContent(selector), PATIENCE).toMatch(text)

const formStatus = (area: string) => `#${area}-shown form [role=status]`

describe('a role on the console page', () => {
  test('is created, read back, changed by its changed fields only, and deleted after its name was typed', async () => {
    const { page, context, faults, writes } = await openPage()
    await openRole(page, 'cloud', 'web')
    await says(page, '#role-shown', 'Role web of cloud: not found')
    await unfold(page, 'role', 'Create')
    await page.fill('[name=auth_type]', 'ec2')
    await page.fill('[name=bound_account_id]', '111122223333\n444455556666')
    await page.fill('[name=bound_tags]', '{"team": ["a", "b"]}')
    await page.check('[name=token_no_default_policy]')
    // a flag that was set and unset again is sent, because the API's default may be another
    await page.check('[name=resolve_aws_unique_ids]')
    await page.uncheck('[name=resolve_aws_unique_ids]')
    await page.click('#role-shown form button')
    await says(page, '#role-said', /^Saved\./)
    const body = {
      auth_type: 'ec2',
      bound_account_id: ['111122223333', '444455556666'],
      bound_tags: { team: ['a', 'b'] },
      token_no_default_policy: true,
      resolve_aws_unique_ids: false,
    }
    expect(writes).toEqual([['auth/cloud/role/web', body]])
    expect(await read('auth/cloud/role/web')).toMatchObject(body)
    await page.waitForSelector('#roles-shown button:text-is("web")', PATIENCE)

    await unfold(page, 'role', 'Edit')
    const filled = await page.$$eval('#role-shown form > label > [name]', all =>
      all.map(one => one.getAttribute('name')),
    )
    expect(filled).toEqual([
      'auth_type',
      'bound_account_id',
      'bound_tags',
      'token_no_default_policy',
      'token_type',
    ])
    await page.click('#role-shown form button')
    await says(page, formStatus('role'), 'Nothing was changed')
    await unfold(page, 'role', 'Empty fields')
    await page.fill('[name=token_ttl]', '20m')
    await page.fill('[name=bound_account_id]', '')
    await page.uncheck('[name=token_no_default_policy]')
    await page.click('#role-shown form button')
    await says(page, '#role-said', /^Saved\./)
    expect(writes.at(-1)).toEqual([
      'auth/cloud/role/web',
      { bound_account_id: [], token_no_default_policy: false, token_ttl: '20m' },
    ])
    expect(await read('auth/cloud/role/web')).toMatchObject({ bound_account_id: [], token_ttl: 1200 })

    await unfold(page, 'role', 'Delete')
    await says(page, '#role-shown', 'Nobody can log in with this role any more')
    const remove = page.locator('#role-shown button:text-is("Delete")')
    expect(await remove.isDisabled()).toBe(true)
    await page.getByLabel('Type web to confirm').fill('we')
    await page.getByLabel('Type web to confirm').press('Enter')
    expect(await remove.isDisabled()).toBe(true)
    await page.getByLabel('Type web to confirm').fill('web')
    expect(writes.length).toBe(2)
    await remove.click()
    await says(page, '#role-said', /^Deleted\./)
    expect(writes.at(-1)).toEqual(['auth/cloud/role/web', 'DELETE'])
    expect(await read('auth/cloud/role/web').catch(() => 'gone')).toBe('gone')
    expect(faults).toEqual([])
    await context.close()
  })

  test('keeps the form and names the reason when a policy refuses the write', async () => {
    await write('auth/cloud/role/refused', { auth_type: 'ec2', bound_account_id: '111122223333' })
    const token = await tokenWith(
      'refusing',
      `path "auth/cloud/role/*" { capabilities = ["read", "update"] denied_parameters = { token_policies = ["admin"] } }
       path "sys/auth" { capabilities = ["read"] }`,
    )
    const { page, context, faults } = await openPage(token)
    await openRole(page, 'cloud', 'refused')
    expect(await page.locator('#role-shown summary').allTextContents()).toEqual(['Edit', 'Empty fields'])
    await unfold(page, 'role', 'Edit')
    await unfold(page, 'role', 'Empty fields')
    await page.fill('[name=token_policies]', 'admin')
    await page.click('#role-shown form button')
    await says(page, formStatus('role'), /may not do this \(403\)/)
    expect(await page.inputValue('[name=token_policies]')).toBe('admin')
    expect(await read('auth/cloud/role/refused')).toMatchObject({ token_policies: [] })
    await page.fill('[name=token_policies]', 'reader')
    await page.click('#role-shown form button')
    await says(page, '#role-said', /^Saved\./)
    expect(await read('auth/cloud/role/refused')).toMatchObject({ token_policies: ['reader'] })
    expect(faults).toEqual([])
    await context.close()
  })

  test('that another writer changed, created or deleted is not written', async () => {
    const fields = { auth_type: 'ec2', bound_account_id: '111122223333', token_ttl: 60 }
    await write('auth/cloud/role/contended', fields)
    const { page, context, faults, writes } = await openPage()
    await openRole(page, 'cloud', 'contended')
    await write('auth/cloud/role/contended', { token_ttl: 90 })
    await unfold(page, 'role', 'Edit')
    await page.fill('[name=token_ttl]', '120')
    await page.click('#role-shown form button')
    await says(page, formStatus('role'), /has changed since it was shown \(token_ttl\)\. Nothing was written/)
    await unfold(page, 'role', 'Delete')
    await page.getByLabel('Type contended to confirm').fill('contended')
    await page.locator('#role-shown button:text-is("Delete")').click()
    await says(page, '#role-shown form:has-text("confirm") [role=status]', /Nothing was written/)
    expect(await read('auth/cloud/role/contended')).toMatchObject({ token_ttl: 90 })

    await openRole(page, 'cloud', 'contended-new')
    await says(page, '#role-shown', 'not found')
    await write('auth/cloud/role/contended-new', fields)
    await unfold(page, 'role', 'Create')
    await page.fill('[name=auth_type]', 'ec2')
    await page.click('#role-shown form button')
    await says(page, formStatus('role'), /\(it is new\)\. Nothing was written/)
    expect(writes).toEqual([])
    expect(faults).toEqual([])
    await context.close()
  })

  test('keeps its secret key of role tags, and the credentials of its mount, when other fields are written', async () => {
    const account = '444455556666'
    await host.control.putUser({ account, name: 'server' })
    const own = await host.control.createAccessKey({ account, user: 'server' })
    const { arn } = await host.control.putRole({ account, name: 'app' })
    await write('sys/auth/secrets', { type: 'aws' })
    await write('auth/secrets/config/client', {
      access_key: own.accessKeyId,
      secret_key: own.secretAccessKey,
    })
    await write('auth/secrets/role/tagged', {
      auth_type: 'ec2',
      bound_account_id: '111122223333',
      role_tag: 'tag',
      token_policies: 'one',
    })
    const { data } = await write('auth/secrets/role/tagged/tag', { policies: 'one' })
    const { page, context, writes } = await openPage()
    await openRole(page, 'secrets', 'tagged')
    await unfold(page, 'role', 'Edit')
    await page.fill('[name=token_policies]', 'one\ntwo')
    await page.click('#role-shown form button')
    await says(page, '#role-said', /^Saved\./)
    await openRole(page, 'secrets', '')
    await unfold(page, 'role', 'Edit')
    await unfold(page, 'role', 'Empty fields')
    await page.fill('[name=description]', 'for servers')
    await page.click('#role-shown form button')
    await says(page, '#role-shown', 'for servers')
    expect(writes).toEqual([
      ['auth/secrets/role/tagged', { token_policies: ['one', 'two'] }],
      ['sys/mounts/auth/secrets/tune', { description: 'for servers' }],
    ])
    // the service verifies the tag with the role's key, and looks the principal up with the mount's credentials
    const tag = Buffer.from(String(data?.['tag_value'])).toString('base64url')
    await write(`auth/secrets/roletag-denylist/${tag}`, {})
    await write('auth/secrets/role/looked-up', { bound_iam_principal_arn: arn })
    const { bound_iam_principal_id: ids } = await read('auth/secrets/role/looked-up')
    expect(ids).toHaveLength(1)
    await context.close()
  })
})

describe('a policy on the console page', () => {
  const good = 'path "auth/cloud/role/*" {\n  capabilities = ["read"]\n}\n'

  test('is refused at the line of its error, then saved, and deleted', async () => {
    const { page, context, faults, writes } = await openPage()
    await openPolicy(page, 'editors')
    await unfold(page, 'policy', 'Create')
    const lines = [...Array.from({ length: 60 }, (_, line) => `# line ${line + 1}`), 'path "x" [', good]
    await page.fill('[name=policy]', lines.join('\n'))
    await page.click('#policy-shown form button')
    await says(page, formStatus('policy'), /failed to parse policy: line 61: .*61: path "x" \[$/)
    const selected = await page.$eval('[name=policy]', element => {
      const { value, selectionStart, selectionEnd, scrollTop } = element as HTMLTextAreaElement
      return { text: value.slice(selectionStart, selectionEnd), isScrolled: scrollTop > 100 }
    })
    expect(selected).toEqual({ text: 'path "x" [', isScrolled: true })
    await page.fill('[name=policy]', good)
    await page.click('#policy-shown form button')
    await says(page, '#policy-said', /^Saved\./)
    expect(await read('sys/policies/acl/editors')).toMatchObject({ policy: good })
    await page.waitForSelector('#policies-shown button:text-is("editors")', PATIENCE)
    await write('sys/policies/acl/editors', { policy: `${good}# changed` })
    await unfold(page, 'policy', 'Edit')
    await page.fill('[name=policy]', `${good}# mine`)
    await page.click('#policy-shown form button')
    await says(page, formStatus('policy'), /has changed since it was shown \(policy\)/)
    expect(writes.length).toBe(2)
    await page.click('#policies-shown button:text-is("editors")')
    await says(page, '#policy-shown', '# changed')
    await unfold(page, 'policy', 'Delete')
    await page.getByLabel('Type editors to confirm').fill('editors')
    await page.locator('#policy-shown button:text-is("Delete")').click()
    await says(page, '#policy-said', /^Deleted\./)
    expect(await read('sys/policies/acl/editors').catch(() => 'gone')).toBe('gone')
    expect(faults).toEqual([])
    await context.close()
  })

  test('with 100,000 characters is shown, edited and stored, and the page keeps its width', async () => {
    const long = `# ${'<img src=x onerror="alert(1)">'.repeat(3_300)}\n${good}`
    expect(long.length).toBeGreaterThan(99_000)
    await write('sys/policies/acl/long', { policy: long })
    const { page, context, faults } = await openPage()
    await page.setViewportSize({ width: 375, height: 812 })
    await openPolicy(page, 'long')
    await unfold(page, 'policy', 'Edit')
    expect(await page.inputValue('[name=policy]')).toBe(long)
    await page.fill('[name=policy]', `${long}# ${'x'.repeat(1_000)}\n`)
    await page.click('#policy-shown form button')
    await says(page, '#policy-said', /^Saved\./)
    expect(String((await read('sys/policies/acl/long'))['policy']).length).toBe(long.length + 1_003)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375)
    expect(await page.$$eval('main img, main script, [onerror]', all => all.length)).toBe(0)
    expect(faults).toEqual([])
    await context.close()
  })
})

test('a mount on the console page is enabled, changed, and disabled after its name was typed', async () => {
  const { page, context, faults, writes } = await openPage()
  await openRole(page, 'other', '')
  await unfold(page, 'role', 'Create')
  await page.fill('[name=type]', 'no such type')
  await page.click('#role-shown form button')
  await says(page, formStatus('role'), /type must be one of/)
  await page.fill('[name=type]', 'aws')
  await page.click('#role-shown form button')
  await says(page, '#role-said', /^Saved\./)
  await page.waitForSelector('#roles-shown button:text-is("other")', PATIENCE)
  await unfold(page, 'role', 'Edit')
  await unfold(page, 'role', 'Empty fields')
  await page.fill('[name=listing_visibility]', 'unauth')
  await page.fill('[name=max_lease_ttl]', '2h')
  await page.click('#role-shown form button')
  await says(page, '#role-said', /^Saved\./)
  expect(writes.slice(1)).toEqual([
    ['sys/auth/other', { type: 'aws' }],
    ['sys/mounts/auth/other/tune', { max_lease_ttl: '2h', listing_visibility: 'unauth' }],
  ])
  await unfold(page, 'role', 'Delete')
  await says(page, '#role-shown', 'Every token, role and configuration of this mount ends at once.')
  await page.getByLabel('Type other to confirm').fill('other')
  // another administrator enables another mount at the same path
  const unmount = await fetch(`${host.base_url}/sys/auth/other`, {
    method: 'DELETE',
    headers: { 'X-Vault-Token': host.root_token },
  })
  expect(unmount.status).toBe(204)
  await write('sys/auth/other', { type: 'aws' })
  await page.locator('#role-shown button:text-is("Delete")').click()
  await says(page, '#role-shown form:has-text("confirm") [role=status]', /accessor, .*Nothing was written/)
  await page.click('#roles-shown button:text-is("other")')
  await unfold(page, 'role', 'Delete')
  await page.getByLabel('Type other to confirm').fill('other')
  await page.locator('#role-shown button:text-is("Delete")').click()
  await says(page, '#role-said', /^Deleted\./)
  expect(Object.keys(await read('sys/auth'))).not.toContain('other/')
  expect(faults).toEqual([])
  await context.close()
})

describe('a token on the console page', () => {
  const makeToken = async (body: object) => (await write('auth/token/create', body)).auth?.client_token ?? ''
  const lookUp = async (token: string): Promise<Readonly<Record<string, unknown>> | undefined> =>
    (await requestHost(host, 'auth/token/lookup', { token }).catch(() => undefined))?.data ?? undefined

  test('is looked up by its accessor, and revoked with its children after its name was typed', async () => {
    const policy = 'path "auth/token/create" { capabilities = ["update"] }'
    await write('sys/policies/acl/creating', { policy })
    const parent = await makeToken({ display_name: 'night shift', policies: ['creating'] })
    const { auth } = await requestHost(host, 'auth/token/create', {}, parent)
    const child = auth?.client_token ?? ''
    const { accessor } = (await lookUp(parent)) ?? {}
    const { page, context, faults, writes } = await openPage()
    await page.fill('#accessor-text', 'no such accessor')
    await page.press('#accessor-text', 'Enter')
    await says(page, '#accessor-said', /invalid accessor/)
    await page.fill('#accessor-text', String(accessor))
    await page.press('#accessor-text', 'Enter')
    await says(page, '#accessor-shown', 'token-night-shift')
    await unfold(page, 'accessor', 'Revoke')
    await says(page, '#accessor-shown', 'This token and every token that it created end at once.')
    const revoke = page.locator('#accessor-shown button:text-is("Revoke")')
    await page.getByLabel('Type token-night-shift to confirm').fill('token-night')
    expect(await revoke.isDisabled()).toBe(true)
    await page.getByLabel('Type token-night-shift to confirm').fill('token-night-shift')
    await revoke.click()
    await says(page, '#accessor-said', /^Revoked\.$/)
    expect(writes.at(-1)).toEqual(['auth/token/revoke-accessor', { accessor }])
    expect(await page.textContent('#accessor-shown')).toBe('')
    expect([await lookUp(parent), await lookUp(child)]).toEqual([undefined, undefined])
    expect(faults).toEqual([])
    await context.close()
  })

  /** Logs in on the page, and returns the new token. */
  async function logIn({ page }: Opened): Promise<string> {
    const isFolded = !(await page.isVisible('#login-json'))
    if (isFolded) await page.click('summary:text-is("Log in here")')
    await page.fill('#login-json', JSON.stringify(await createLoginProof(host)))
    const answered = page.waitForResponse(answer => answer.url().endsWith('/v1/auth/cloud/login'))
    await page.click('#login-form button')
    const { auth } = (await (await answered).json()) as { auth: { client_token: string } }
    await says(page, '#access-said', 'This page holds the token of a login')
    expect(await page.inputValue('#login-json')).toBe('')
    return auth.client_token
  }

  test('of a login on the page is used, and *Forget* revokes the token', async () => {
    const session = await openPage('')
    const { page, context, faults } = session
    const token = await logIn(session)
    expect(await lookUp(token)).toMatchObject({ policies: ['default', 'demo'] })
    await openRole(page, 'cloud', 'demo-iam')
    await says(page, '#role-shown', 'token_policies["demo"]')
    await page.click('#forget')
    await says(page, '#access-said', 'The token of the login was revoked.')
    expect(await page.textContent('#role-shown')).toBe('')
    expect(await lookUp(token)).toBeUndefined()
    expect(await context.storageState({ indexedDB: true })).toEqual({ cookies: [], origins: [] })
    expect(await page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 0])
    expect(faults).toEqual([])
    await context.close()
  })

  test('of a login is revoked after fifteen minutes without a click, and when another token replaces it', async () => {
    const session = await openPage('')
    const { page, context, faults } = session
    const start = Date.now()
    const token = await logIn(session)
    await context.clock.setFixedTime(start + 14 * 60_000)
    await page.click('#access-title')
    await context.clock.setFixedTime(start + 28 * 60_000)
    await openRole(page, 'cloud', 'demo-iam')
    expect(await lookUp(token)).toBeDefined()
    await context.clock.setFixedTime(start + 43 * 60_000 + 1000)
    await says(page, '#access-said', 'The token of the login was revoked.')
    expect(await lookUp(token)).toBeUndefined()
    expect(await page.textContent('#role-shown')).toBe('')

    const second = await logIn(session)
    await page.fill('#token', host.root_token)
    await page.press('#token', 'Enter')
    await expect.poll(() => lookUp(second), PATIENCE).toBeUndefined()
    await says(page, '#access-said', 'This page holds a token.')
    await context.clock.setFixedTime(start + 90 * 60_000)
    await openRole(page, 'cloud', 'demo-iam')
    await says(page, '#role-shown', 'token_policies["demo"]')
    expect(await lookUp(host.root_token)).toBeDefined()
    expect(faults).toEqual([])
    await context.close()
  })
})

test('a token that may only read sees no button that writes', async () => {
  await write('auth/cloud/role/seen', { auth_type: 'ec2', bound_account_id: '111122223333' })
  const token = await tokenWith('reading', 'path "*" { capabilities = ["read", "list"] }')
  const { page, context, faults, writes } = await openPage(token)
  await page.click('#roles-ask')
  await page.click('#roles-shown button:text-is("seen")')
  await says(page, '#role-shown', '111122223333')
  const writing = '#role-shown summary, #role-shown button, #policy-shown summary, #policy-shown button'
  expect(await page.locator(writing).count()).toBe(0)
  await page.click('#roles-shown button:text-is("cloud")')
  await says(page, '#role-shown', 'Mount cloud')
  await openRole(page, 'cloud', 'none')
  await says(page, '#role-shown', 'not found')
  await openRole(page, 'none', '')
  await says(page, '#role-shown', 'Mount none: not found')
  await openPolicy(page, 'default')
  await says(page, '#policy-shown', 'capabilities')
  expect(await page.locator(writing).count()).toBe(0)
  expect(writes).toEqual([])
  expect(faults).toEqual([])
  await context.close()
})

test('targets in unfolded forms are at least 24 pixels wide and high on a phone, and the page keeps its width', async () => {
  await write('auth/cloud/role/sized', { auth_type: 'ec2', bound_account_id: '111122223333' })
  const { page, context, faults } = await openPage()
  await page.setViewportSize({ width: 375, height: 812 })
  for (const ask of ['#roles-ask', '#policies-ask']) await page.click(ask)
  await openRole(page, 'cloud', 'sized')
  await openPolicy(page, 'default')
  await page.fill('#accessor-text', String((await read('auth/token/lookup-self'))['accessor']))
  await page.press('#accessor-text', 'Enter')
  await page.waitForSelector('#accessor-shown summary', PATIENCE)
  await page.$$eval('main details', all => {
    for (const one of all) one.setAttribute('open', '')
  })
  const small = await page.$$eval('main :is(button, input, summary, textarea)', all =>
    all
      .filter(one => one.checkVisibility())
      .map(one => ({ name: one.id || one.textContent, box: one.getBoundingClientRect() }))
      .filter(({ box }) => box.width < 24 || box.height < 24)
      .map(({ name }) => name),
  )
  expect(small).toEqual([])
  expect(await page.locator('main textarea:visible').count()).toBeGreaterThan(5)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375)
  await shots(page, 'administration')
  expect(faults).toEqual([])
  await context.close()
})
