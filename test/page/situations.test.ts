import { execFileSync } from 'node:child_process'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { quoteForShell } from '../../shared/console/commands.ts'
import { PAIR_SEEN_AT } from '../builders/pair-seen.ts'
import { type Opened, openBrowser, opened, shots } from './browser.ts'
import { servePage } from './served.ts'
import { createSituations, evilName, playSituation, type Situation } from './situations.ts'

let browser: Browser
let site: Awaited<ReturnType<typeof servePage>>
beforeAll(async () => {
  browser = await openBrowser()
  site = await servePage()
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

const situations = createSituations(evilName)
const plain = createSituations(name => name)

/** Opens the page in a situation, and waits for both answers. */
async function openSituation(situation: Situation): Promise<Opened> {
  const all = await opened(browser, 'about:blank')
  await playSituation(all.context, situation)
  await all.page.goto(site.url)
  await all.page.waitForSelector('#own[data-state]:not([data-state="asking"])')
  if (!situation.isSingle) await all.page.waitForSelector('#peer[data-state]:not([data-state="asking"])')
  return all
}

/** The tone and the headline of each situation. */
const headlines: Readonly<Record<keyof typeof situations, readonly [tone: string, headline: RegExp]>> = {
  healthy: ['good', /^“east.*” serves, and “west.*” is its secondary\.$/],
  switching: ['busy', /^“west.*” is taking over from “east.*”\. This needs no action/],
  finishing: ['busy', /^“west.*”: The operation promotion is running, at the step open/],
  between: ['busy', /^No cluster serves: “east.*” has handed over or closed, and “west/],
  after: ['bad', /^“west.*” serves; “east.*” does not follow it yet/],
  following: ['busy', /^“west.*” serves, and “east.*” is about to follow it/],
  dead: ['bad', /^Only “west.*” answers here, and it does not serve\. Its primary last answered it at/],
  revoked: ['bad', /^“east.*” serves and does not know “west/],
  disaster: ['bad', /^“west.*” serves\. The other cluster does not answer/],
  report: ['bad', /^“west.*” serves; “east.*” does not follow it yet/],
  'kms-off': ['bad', /^“east.*”: KMS cannot unwrap its keyring/],
  single: ['good', /^“east.*”: The cluster serves clients, and no other cluster has its data/],
}
const ORDER = ['good', 'unknown', 'busy', 'bad']

const needsSet = ['switch', 'lag', 'secondaries', 'report', 'commands']

test.each(Object.entries(plain))(
  'verdict, clusters and running work fit on one screen of a desktop and of a phone: %s',
  async (name, situation) => {
    const { page, context } = await openSituation(situation)
    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 375, height: 812 },
    ]) {
      await page.setViewportSize(viewport)
      const ids = ['verdict', 'own-facts', ...('isSingle' in situation ? [] : ['peer-facts'])]
      const isRunning = name === 'switching' || name === 'finishing' || name === 'following'
      for (const id of isRunning ? [...ids, 'work'] : ids) {
        const box = await page.locator(`#${id}`).boundingBox()
        expect(box, id).not.toBeNull()
        expect((box?.y ?? 0) + (box?.height ?? 0), `${id} at ${viewport.width}`).toBeLessThanOrEqual(
          viewport.height,
        )
      }
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
        viewport.width,
      )
    }
    await shots(page, `situation-${name}`)
    await context.close()
  },
)

test('targets are at least 24 pixels wide and high, except links within a sentence', async () => {
  const { page, context } = await openSituation(plain.dead)
  await page.setViewportSize({ width: 375, height: 812 })
  await page.evaluate(() => {
    for (const one of document.querySelectorAll<HTMLElement>('#loss, #duties')) one.hidden = false
  })
  const small = await page.$$eval('a:not(p > span > a), button, input, summary, textarea', all =>
    all
      .filter(one => one.checkVisibility())
      .map(one => ({ name: one.id || one.textContent, box: one.getBoundingClientRect() }))
      .filter(({ box }) => box.width < 24 || box.height < 24)
      .map(({ name }) => name),
  )
  expect(small).toEqual([])
  await context.close()
})

test('a card shows since when the cluster has its role and its region, or what the page itself has seen', async () => {
  const { page, context } = await openSituation(plain.healthy)
  expect(await page.textContent('#peer-facts')).toMatch(/^primary since.*2 h.*region ?eu-central-1/)
  expect(await page.textContent('#own-facts')).toMatch(/^seen here since/)
  await context.close()
})

test('sections that need a DR set are absent for a single cluster', async () => {
  const { page, context } = await openSituation(plain.single)
  for (const id of needsSet) expect(await page.isVisible(`#${id}`), id).toBe(false)
  expect(await page.locator('nav a:visible').allTextContents()).toEqual([
    'Clusters',
    'Refused login',
    'Roles',
    'Policies',
    'Revoke',
    'Expiries',
    'Tokens',
  ])
  await context.close()
})

test('after a take-over the page lists the remaining duties, with commands for a shell', async () => {
  const { page, context } = await openSituation(situations.after)
  const commands = await page.locator('#duties pre').allTextContents()
  expect(commands.length).toBe(3)
  for (const command of commands) execFileSync('sh', ['-n', '-c', command])
  expect(commands[1]).toContain(quoteForShell(situations.after.peer.name))
  expect(commands[1]).toMatch(/\/other\/v1\/sys\/replication\/dr\/secondary\/generate-public-key/)
  await context.close()
})

test('a set without a primary is red only after five seconds, because a switch is between two answers', async () => {
  const { page, context } = await openSituation(plain.between)
  await page.waitForSelector('#verdict.busy')
  await context.clock.setFixedTime(PAIR_SEEN_AT + 6000)
  await page.waitForSelector('#verdict.bad')
  await context.close()
})

test.each([
  ['revoked', 1],
  ['disaster', 3],
  ['finishing', 0],
] as const)('the page lists the duties of the situation %s: %i', async (name, count) => {
  const { page, context } = await openSituation(plain[name])
  expect(await page.locator('#duties:visible pre').count()).toBe(count)
  expect(await page.isVisible('#duties-link')).toBe(count > 0)
  await context.close()
})

test('unchanged answers change no live region, and close no details', async () => {
  const { page, context } = await openSituation(plain.dead)
  await page.click('#own-details summary')
  let looks = 0
  page.on('request', request => {
    if (request.url().endsWith('/dr/status')) looks += 1
  })
  await page.evaluate(() => {
    const changes: string[] = []
    Object.assign(globalThis, { changes })
    for (const one of document.querySelectorAll('[aria-live], [role=status]'))
      new MutationObserver(() => changes.push(one.id)).observe(one, {
        childList: true,
        characterData: true,
        subtree: true,
      })
  })
  await expect.poll(() => looks, { timeout: 30_000 }).toBeGreaterThan(4)
  expect(await page.evaluate(() => (globalThis as unknown as { changes: string[] }).changes)).toEqual([])
  expect(await page.getAttribute('#own-details', 'open')).toBe('')
  await context.close()
})

test.each(Object.entries(situations))(
  'the headline is right with hostile names: %s',
  async (name, situation) => {
    const { page, context, faults } = await opened(browser, 'about:blank')
    await playSituation(context, situation)
    await page.goto(site.url)
    const [tone, headline] = headlines[name as keyof typeof situations]
    await page.waitForSelector(`#verdict.${tone}`)
    await page.waitForFunction(
      pattern =>
        new RegExp(pattern, 'u').test(document.getElementById('verdict-sentence')?.textContent ?? ''),
      headline.source,
    )
    expect(await page.textContent('#task')).toMatch(/\.$/)
    const tones = await page.$$eval('article:not([hidden])', all => all.map(({ className }) => className))
    const worst = Math.max(...tones.map(one => ORDER.indexOf(one)))
    expect(worst).toBeLessThanOrEqual(ORDER.indexOf(tone))
    expect(await page.$$eval('main img, main script, [onerror]', all => all.length)).toBe(0)
    expect(faults).toEqual([])
    await context.close()
  },
)

test('a planned switch that has become lossy since the readiness was shown is not requested', async () => {
  const { page, context } = await openSituation(situations.healthy)
  let primary = 'answers'
  let promotions = 0
  await context.route('**/secondary/readiness', route => {
    const [, body] = situations.dead.own.answers['/secondary/readiness']
    return route.fulfill({ json: { data: { ...body.data, lag: { primary } } } })
  })
  await context.route('**/secondary/promote', route => {
    promotions += 1
    return route.fulfill({ json: {} })
  })
  await page.fill('#operation-token', 'an operation token')
  await page.press('#operation-token', 'Enter')
  await page.click('#readiness-ask')
  await page.fill('#confirm', situations.healthy.own.name)
  await page.waitForSelector('#promote:enabled')
  primary = 'silent'
  await page.click('#promote')
  await page.waitForSelector('#promote-said.bad')
  expect(await page.textContent('#promote-said')).toBe('The readiness has changed. Nothing was done.')
  expect(await page.isVisible('#loss')).toBe(true)
  expect(promotions).toBe(0)
  await context.close()
})

test('the readiness of a secondary adds the lags before the page was opened', async () => {
  const { page, context } = await openSituation(plain.healthy)
  await context.route('**/dr/readiness', route => {
    const [, body] = plain.dead.own.answers['/secondary/readiness']
    const history = [300, 60].map(ago => ({
      time: new Date(PAIR_SEEN_AT - ago * 1000).toISOString(),
      age_ms: 4000,
    }))
    return route.fulfill({ json: { data: { ...body.data, lag: { primary: 'answers', history } } } })
  })
  expect(await page.textContent('#lag-since')).toBe('since you opened this page')
  await page.fill('#token', 'a token')
  await page.press('#token', 'Enter')
  await page.click('#readiness-ask')
  await page.waitForSelector('#lag-since:text-is("of the last ten minutes")')
  const points = await page.waitForSelector('polyline.stored', { state: 'attached' })
  // five of ten minutes ago is the middle of the chart
  expect(await points.getAttribute('points')).toMatch(/^300\.0,\S+ 540\.0,/)
  await context.close()
})

test('an error replaces the old result, and says in a sentence what was refused', async () => {
  const { page, context } = await openSituation(situations.healthy)
  let refusal: { status: number; json: object } | undefined
  await context.route('**/v1/**', route => {
    const { pathname } = new URL(route.request().url())
    if (refusal && !/health|status/.test(pathname)) return route.fulfill(refusal)
    if (pathname.endsWith('/sys/auth'))
      return route.fulfill({ json: { data: { 'cloud/': { type: 'aws', accessor: 'a' } } } })
    if (pathname.endsWith('/roles')) return route.fulfill({ json: { data: { keys: ['app'] } } })
    if (pathname.endsWith('/certificates')) return route.fulfill({ status: 403, json: { errors: ['no'] } })
    if (pathname.endsWith('/role/app')) return route.fulfill({ json: { data: { auth_type: 'iam' } } })
    if (pathname.endsWith('/explain'))
      return route.fulfill({ json: { data: { role: 'app', checks: [{ check: 'bound', verdict: 'fail' }] } } })
    if (pathname.endsWith('/divergence')) return route.fulfill({ json: { data: { complete: true } } })
    return route.fallback()
  })
  const press = async () => {
    for (const id of ['#roles-ask', '#report-ask', '#explain-form button']) await page.click(id)
  }
  await page.fill('#explain-role', 'app')
  await press()
  await page.waitForSelector('#explain-shown table')
  await page.waitForSelector('#roles-shown button')
  await page.waitForSelector('#report-shown p')
  expect(await page.textContent('#ends-shown')).toContain('may not do this (403): no.')
  await page.click('#roles-shown button')
  await page.waitForSelector('#role-shown h3')
  refusal = { status: 404, json: { errors: [] } }
  await press()
  for (const name of ['roles', 'report', 'explain']) {
    await page.waitForSelector(`#${name}-said.bad`)
    expect(await page.textContent(`#${name}-said`)).toMatch(/^There is nothing at this path \(404\)\./)
    expect(await page.textContent(`#${name}-shown`)).toBe('')
  }
  expect(await page.textContent('#role-shown')).toBe('')
  await page.fill('#explain-login', '[]')
  await page.click('#explain-form button')
  expect(await page.textContent('#explain-said')).toContain('must be a JSON object')
  await context.close()
})

test('a pasted audit entry names the rule, the seen value, and what to do', async () => {
  const { page, context, faults } = await openSituation(plain.single)
  const evil = '<img src=x onerror="alert(1)">'
  await page.fill(
    '#refused-entry',
    JSON.stringify({
      audit: 'response',
      error: 'invalid_request',
      request: { id: 'r-1', path: 'auth/cloud/login', data: { role: evil } },
      reason: { why: 'not-bound_account_id', check: 'bound_account_id', seen: evil },
    }),
  )
  await page.click('#refused-form button')
  const shown = await page.textContent('#refused-shown')
  expect(shown).toMatch(/The rule not-bound_account_id refused.*What to do: If the workload.*seen<img src=x/)
  await page.fill('#request-id', 'r-1')
  expect(await page.textContent('#finding-shown')).toContain('.request.id == "r-1"')
  await page.fill('#refused-entry', 'nothing')
  await page.click('#refused-form button')
  expect(await page.textContent('#refused-shown')).toBe('')
  expect(await page.textContent('#refused-said')).toContain('no audit entry')
  expect(await page.$$eval('main img', all => all.length)).toBe(0)
  expect(faults).toEqual([])
  await context.close()
})

test('a lossy take-over is refused without its own confirmation, and is never called planned', async () => {
  const { page, context, faults } = await opened(browser, 'about:blank')
  const promotions: unknown[] = []
  page.on('request', request => {
    if (request.url().endsWith('/promote')) promotions.push(request.postDataJSON())
  })
  await playSituation(context, situations.dead)
  await page.goto(site.url)
  await page.waitForSelector('#verdict.bad')
  await page.fill('#operation-token', 'an operation token')
  await page.press('#operation-token', 'Enter')
  await page.click('#readiness-ask')
  await page.waitForSelector('#loss:not([hidden])')
  expect(await page.textContent('#switch')).not.toMatch(/planned switch would/)
  expect(await page.textContent('#loss-shown')).toMatch(
    /every write that the primary acknowledged in the last 101 s\. At least 2 positions are missing.*handover: the primary does not answer/,
  )
  await page.fill('#confirm', situations.dead.own.name)
  await page.press('#confirm', 'Enter')
  expect(await page.textContent('#promote-why')).toBe('Accept the possible loss first.')
  expect(await page.isDisabled('#promote')).toBe(true)
  expect(promotions).toEqual([])
  await page.check('#accept-loss')
  await page.waitForSelector('#promote:enabled')
  await shots(page, 'lossy')
  await page.click('#promote')
  await page.waitForSelector('#promote-said.good')
  expect(promotions).toEqual([{ dr_operation_token: 'an operation token' }])
  expect(await page.isChecked('#accept-loss')).toBe(false)
  expect(faults).toEqual([])
  await context.close()
})
