import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalHost, startLocalHost } from '../../infra/local/host/host.ts'
import { openBrowser, opened } from './browser.ts'

// A hostile cluster chooses the names of clusters, mounts and roles in its answers.

const EVIL = `<img src=x onerror="alert(1)"></script><script>alert(2)</script>'"&`

let browser: Browser
let host: LocalHost
beforeAll(async () => {
  browser = await openBrowser()
  host = await startLocalHost({ cluster: 'hostile', port: 0, memory: true, unlisted: true })
})
afterAll(async () => {
  await browser?.close()
  await host?.close()
})

const health = { initialized: true, cluster_name: EVIL, product_version: EVIL }
const status = {
  mode: 'secondary',
  cluster_id: EVIL,
  state: 'stream-wals',
  connection_state: 'ready',
  secondary_id: EVIL,
  merkle_root: EVIL,
  last_remote_wal: 5,
  diverging_items: [EVIL],
  last_error: { text: EVIL, time: EVIL },
  operation: { id: '1', name: EVIL, step: EVIL, error: EVIL },
  primaries: [{ api_address: 'javascript:alert(3)', cluster_address: EVIL, connection_status: 'connected' }],
}
const readiness = {
  mode: 'secondary',
  checks: [{ name: EVIL, text: EVIL }],
  promotion: { goes_through: true, warnings: [EVIL], steps: [{ step: EVIL, does: EVIL }] },
  operation_token: { presented: { why: EVIL } },
}
const divergence = {
  complete: false,
  waits_for: EVIL,
  counts: { commits: 1, kinds: { [EVIL]: { written: 1, deleted: 0 } } },
  lost: [{ time: EVIL, changes: [{ kind: EVIL, what: EVIL }] }],
  diverging: [{ what: EVIL }],
}

/** Answers of a hostile cluster, by the end of the path. */
const answers: readonly (readonly [end: string, body: object])[] = [
  ['/sys/health', health],
  ['/secondary/readiness', { data: readiness }],
  ['/dr/divergence', { data: divergence }],
  ['/sys/auth', { data: { [`${EVIL}/`]: { type: EVIL, accessor: EVIL } } }],
  ['/policies/acl', { data: { keys: [EVIL] } }],
  ['/roles', { data: { keys: [EVIL] } }],
  ['/certificates', { data: { keys: [EVIL] } }],
  [
    '/explain',
    { data: { role: EVIL, checks: [{ check: EVIL, verdict: 'fail', message: EVIL, seen: { a: EVIL } }] } },
  ],
  [
    '/review',
    {
      data: {
        findings: [{ severity: EVIL, subject: EVIL, text: EVIL, fix: EVIL }],
        rules: [{ rule: EVIL, findings: 1e9, why: EVIL }],
      },
    },
  ],
  ['/config/organization', { data: { accounts: 1e9, completed_at: EVIL, last_error: EVIL } }],
  ['', { data: { [EVIL]: EVIL } }],
]

const lie = (context: BrowserContext, own: object = status) =>
  context.route('**/v1/**', route => {
    const { pathname } = new URL(route.request().url())
    if (pathname.endsWith('/capabilities-self')) {
      const { paths } = route.request().postDataJSON() as { paths: string[] }
      return route.fulfill({ json: { data: Object.fromEntries(paths.map(path => [path, ['root', EVIL]])) } })
    }
    const [, body] = answers.find(([end]) => pathname.endsWith(end)) ?? []
    return route.fulfill({ json: pathname.endsWith('/dr/status') ? { data: own } : body })
  })

/** A primary whose secondaries have hostile names. */
const primaryStatus = {
  mode: 'primary',
  cluster_id: EVIL,
  secondaries: [{ node_id: EVIL, api_address: EVIL, connection_status: 'connected' }],
}

test('the console page shows hostile answers of a cluster as text', async () => {
  const { page, context, faults } = await opened(browser, 'about:blank')
  await lie(context)
  await page.goto(new URL('/ui/', host.base_url).href)
  await page.waitForSelector('#own[data-state]')
  await page.fill('#operation-token', 'an operation token')
  await page.press('#operation-token', 'Enter')
  for (const button of ['#readiness-ask', '#report-ask', '#roles-ask', '#policies-ask'])
    await page.click(button)
  await page.click('#roles-shown button:text-is("Review")')
  await page.waitForSelector('#review-shown table')
  await page.click('#roles-shown td:first-child button')
  await page.waitForSelector('#role-shown h3:text("Mount")')
  await page.click('#roles-shown td:last-child button')
  await page.waitForSelector('#role-shown h3:text("Role")')
  await page.click('#policies-shown button')
  await page.waitForSelector('#policy-shown h3')
  // the hostile cluster grants every capability, so each object has its forms
  for (const id of ['role', 'policy'])
    expect(await page.locator(`#${id}-shown > details > summary`).allTextContents()).toEqual([
      'Edit',
      'Delete',
    ])
  await page.fill('#explain-login', '{}')
  await page.click('#explain-form button')
  await page.waitForSelector('#explain-shown table')
  for (const id of [
    'own',
    'own-name',
    'work-shown',
    'readiness-shown',
    'report-shown',
    'roles-shown',
    'review-shown',
    'role-shown',
    'policies-shown',
    'policy-shown',
    'explain-shown',
    'commands-shown',
    'ends-shown',
  ])
    expect(await page.textContent(`#${id}`), id).toContain('<img src=x onerror=')
  expect(await page.$$eval('main img, main script, [onerror]', all => all.length)).toBe(0)
  expect(
    await page.$$eval('a[href]', all =>
      all.map(one => one.getAttribute('href')).filter(to => !to?.startsWith('#')),
    ),
  ).toEqual([])
  expect(faults).toEqual([])
  await context.close()
})

test('names and values of 100,000 characters keep the width of a phone, and need no capability to be shown', async () => {
  const long = EVIL.repeat(Math.ceil(100_000 / EVIL.length))
  const { page, context, faults } = await opened(browser, 'about:blank')
  await page.setViewportSize({ width: 375, height: 812 })
  await context.route('**/v1/**', route => {
    const { pathname } = new URL(route.request().url())
    if (pathname.endsWith('/capabilities-self'))
      return route.fulfill({ status: 400, json: { errors: ['paths may hold up to 1024 bytes'] } })
    if (pathname.endsWith('/dr/status')) return route.fulfill({ json: { data: { mode: 'disabled' } } })
    const isList = pathname.endsWith('/roles') || pathname.endsWith('/acl')
    if (isList) return route.fulfill({ json: { data: { keys: [long] } } })
    if (pathname.endsWith('/sys/auth'))
      return route.fulfill({ json: { data: { 'cloud/': { type: 'aws', accessor: long } } } })
    return route.fulfill({ json: { data: { policy: long, token_policies: [long] } } })
  })
  await page.goto(new URL('/ui/', host.base_url).href)
  await page.fill('#token', 'a token')
  await page.press('#token', 'Enter')
  for (const [ask, name, shown] of [
    ['#roles-ask', '#roles-shown td:last-child button', '#role-shown'],
    ['#policies-ask', '#policies-shown button', '#policy-shown'],
  ] as const) {
    await page.click(ask)
    await page.click(name)
    await page.waitForSelector(`${shown} dd`)
    const text = await page.textContent(shown)
    expect(text?.split(EVIL).length).toBeGreaterThan(2000)
    expect(text).toContain('What the token may do is unknown. The cluster refused the request (400)')
    expect(await page.locator(`${shown} summary`).count()).toBe(0)
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375)
  expect(await page.$$eval('main img, main script, [onerror]', all => all.length)).toBe(0)
  expect(faults).toEqual([])
  await context.close()
})

test('the console page shows hostile names of secondaries as text', async () => {
  const { page, context, faults } = await opened(browser, 'about:blank')
  await lie(context, primaryStatus)
  await page.goto(new URL('/ui/', host.base_url).href)
  await page.waitForSelector('#secondaries-shown td')
  expect(await page.textContent('#secondaries-shown')).toContain('<img src=x onerror=')
  expect(await page.$$eval('main img, main script, [onerror]', all => all.length)).toBe(0)
  expect(faults).toEqual([])
  await context.close()
})

test('markup injected into the console page runs no inline script, handler or evaluation', async () => {
  const { page, context } = await opened(browser, new URL('/ui/', host.base_url).href)
  const refused = await page.evaluate(() => {
    const attempts = [
      () => document.body.insertAdjacentHTML('beforeend', '<b>markup</b>'),
      () => new Function('globalThis.ran = true')(),
      () => {
        const script = document.createElement('script')
        script.text = 'globalThis.ran = true'
        document.body.append(script)
      },
    ]
    const outcomeOf = (attempt: () => void): string => {
      try {
        attempt()
        return 'done'
      } catch (error) {
        return (error as Error).name
      }
    }
    // code from the debugger bypasses the policy, so the attempts run in a later turn of the page
    return new Promise<string[]>(resolve => setTimeout(() => resolve(attempts.map(outcomeOf)), 10))
  })
  expect(refused).toEqual(['TypeError', 'EvalError', 'TypeError'])
  expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false)
  await context.close()
})
