import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type DrillRehearsal,
  runDisasterDrill,
  startDrillRehearsal,
  switchPrimaryOver,
} from '../../infra/local/commands/drill/drill.ts'
import { createLoginProof } from '../../infra/local/commands/start/demonstration.ts'
import type { LocalHost } from '../../infra/local/host/host.ts'
import { findSteadyPort } from '../../infra/local/os/loopback.ts'
import { requestHost } from '../../infra/local/pair/dr-client.ts'
import { HOME_ACCOUNT } from '../../infra/local/provider/home.ts'
import { makeClusterFollow } from '../support/service/follow.ts'
import { invokeAt } from '../support/service/invoke.ts'
import { type Opened, openBrowser, opened, shots } from './browser.ts'

let browser: Browser
let rehearsal: DrillRehearsal
let east: Opened
let west: Opened

const pageOf = ({ base_url }: LocalHost): string => new URL('/ui', base_url).href
const originOf = ({ base_url }: LocalHost): string => new URL(base_url).origin

beforeAll(async () => {
  browser = await openBrowser()
  const options = { port: await findSteadyPort(), memory: true, unlisted: true, pauseMs: 200 }
  rehearsal = await startDrillRehearsal(options, () => undefined)
  east = await opened(browser, pageOf(rehearsal.east))
  west = await opened(browser, pageOf(rehearsal.west))
})
afterAll(async () => {
  await browser?.close()
  await rehearsal?.close()
})

const PATIENCE = { timeout: 90_000 }

/** Waits until a card shows a state. */
const shows = (page: Page, card: 'own' | 'peer', state: string) =>
  page.waitForSelector(`#${card}[data-state="${state}"]`, PATIENCE)

/** Waits until an element contains a text. */
const says = (page: Page, id: string, text: string) =>
  page.waitForFunction(
    ([one = '', wanted = '']) => document.getElementById(one)?.textContent?.includes(wanted),
    [id, text],
    PATIENCE,
  )

async function withTokens(page: Page, tokens: { token?: string; operation?: string }): Promise<void> {
  await page.fill('#token', tokens.token ?? '')
  await page.fill('#operation-token', tokens.operation ?? '')
  await page.press('#operation-token', 'Enter')
  expect(await page.inputValue('#token')).toBe('')
  expect(await page.inputValue('#operation-token')).toBe('')
}

async function askedReadiness(page: Page): Promise<void> {
  await page.click('#readiness-ask')
  await page.waitForSelector('#readiness-shown table', PATIENCE)
}

/** Starts a promotion as an operator does, and waits for its end. */
async function promoted({ page }: Opened, name: string, { force = false } = {}): Promise<void> {
  await withTokens(page, { operation: rehearsal.token })
  await askedReadiness(page)
  if (force) {
    await page.check('#force')
    await page.check('#accept-loss')
  }
  await page.fill('#confirm', `${name}x`)
  expect(await page.isDisabled('#promote')).toBe(true)
  await page.fill('#confirm', name)
  await page.waitForSelector('#promote:enabled', PATIENCE)
  await page.press('#confirm', 'Enter')
  await page.waitForSelector('#promote-said.good, #promote-said.bad', PATIENCE)
  expect(await page.textContent('#promote-said')).toContain('This cluster has taken over.')
}

describe('the console pages of two clusters during planned and forced switches', () => {
  test('show the lag of a cut secondary, and what a promotion would lose', async () => {
    const { page } = west
    await shows(page, 'own', 'streaming')
    await shows(page, 'peer', 'serving')
    await says(page, 'verdict', 'east serves, and west is its secondary.')
    rehearsal.proxy.cut()
    await page.waitForFunction(
      () =>
        /is (?:[6-9]|[1-9]\d) s old.*would lose/.test(
          document.getElementById('lag-words')?.textContent ?? '',
        ),
      undefined,
      PATIENCE,
    )
    expect(await page.textContent('#lag-words')).toMatch(/It lacks [1-9]\d* positions?/)
    rehearsal.proxy.heal()
    await page.waitForFunction(
      () =>
        /is (?:less than a second|[1-4] s) old/.test(document.getElementById('lag-words')?.textContent ?? ''),
      undefined,
      PATIENCE,
    )
    const heights = await page.$$eval('polyline.stored', lines =>
      lines.flatMap(line =>
        (line.getAttribute('points') ?? '').split(' ').map(point => Number(point.split(',')[1])),
      ),
    )
    expect(Math.max(...heights) - Math.min(...heights)).toBeGreaterThan(30)
    await shots(page, 'lag')
  })

  test('explain a rejected login, and show its role', async () => {
    const { page } = east
    await rehearsal.east.control.putRole({ account: HOME_ACCOUNT.account, name: 'somebody-else' })
    await requestHost(rehearsal.east, 'auth/cloud/role/narrow', {
      auth_type: 'iam',
      bound_iam_principal_arn: `arn:aws:iam::${HOME_ACCOUNT.account}:role/somebody-else`,
    })
    await withTokens(page, { token: rehearsal.root })
    await page.click('#roles-ask')
    await says(page, 'roles-shown', 'keys fetched')
    expect(await page.textContent('#roles-shown')).toMatch(/cloud\d{12}[0-9a-f-]{36}.* agonone/)
    await page.click('#roles-shown button[aria-label="Review cloud"]')
    await says(page, 'review-shown', 'The review of cloud found')
    expect(await page.textContent('#review-shown')).toMatch(/highconfigiam roles exist.*session-tags: /)
    await shots(page, 'reviewed')
    await page.click('#roles-shown button:text-is("narrow")')
    await says(page, 'role-shown', ':role/somebody-else')
    expect(await page.textContent('#ends-shown')).toMatch(/certificate local-aws of cloudexpires in \d+ /)
    const { role: _, ...login } = await createLoginProof(rehearsal.east)
    await page.fill('#explain-login', JSON.stringify(login))
    await page.click('#explain-form button')
    await says(page, 'explain-shown', 'A login with role narrow would fail at the check')
    expect(await page.textContent('#explain-shown')).toMatch(/fail/)
    await shots(page, 'explained')
    await page.click('#forget')
    expect(await page.textContent('main')).not.toContain('somebody-else')
  })

  test('allow a planned switch only after all inputs, then show its steps and the new roles', async () => {
    const { page } = west
    expect(await page.isDisabled('#promote')).toBe(true)
    await says(page, 'promote-why', 'Enter a DR operation token first.')
    const rejoin = (from: LocalHost, to: LocalHost) => () =>
      makeClusterFollow(from.cluster, from, to, rehearsal.token)
    const there = { from: rehearsal.east, to: rehearsal.west }
    const switched = await switchPrimaryOver(rehearsal, there, {
      promote: () => promoted(west, 'west'),
      rejoin: rejoin(rehearsal.east, rehearsal.west),
    })
    expect(switched).toMatchObject({ lost: [], mostAtOnce: 1 })
    await shows(page, 'own', 'serving')
    await shows(page, 'peer', 'streaming')
    expect(await page.textContent('#work-shown')).toMatch(/promotion on west has ended[\s\S]*serve: .* ✓/)
    await shots(page, 'switched')
    const back = { from: rehearsal.west, to: rehearsal.east }
    await switchPrimaryOver(rehearsal, back, {
      promote: () => promoted(east, 'east'),
      rejoin: rejoin(rehearsal.west, rehearsal.east),
    })
    await shows(east.page, 'own', 'serving')
  })

  test('allow a forced promotion in a disaster, and then report the losses', async () => {
    const { page, context } = west
    await shows(page, 'own', 'streaming')
    const found = await runDisasterDrill(rehearsal, {
      promote: async () => {
        await context.route(`${originOf(rehearsal.east)}/**`, route => route.abort())
        await shows(page, 'peer', 'unreachable')
        expect(await page.textContent('#lag-words')).toContain('does not answer this page')
        await promoted(west, 'west', { force: true })
        await shots(page, 'disaster')
        await context.unroute(`${originOf(rehearsal.east)}/**`)
      },
      healed: () => invokeAt(rehearsal.west, 'on-journal', { source: 'aws.events' }),
    })
    expect(found.lost.length).toBeGreaterThan(0)
    await withTokens(east.page, { operation: rehearsal.token })
    await east.page.click('#report-ask')
    await east.page.waitForSelector('#report-shown table', PATIENCE)
    expect(await east.page.textContent('#report-shown')).toMatch(
      /\d+ commits? of this cluster (?:is|are) not in its set/,
    )
    const rows = await east.page.$$eval('#report-shown table:first-of-type tbody tr', all =>
      all.map(row => [...row.children].map(cell => cell.textContent)),
    )
    const tokens = rows.find(([kind]) => kind === 'token')
    expect(Number(tokens?.[1])).toBe(found.lost.length)
    await shots(east.page, 'report')
  })

  test('violate no content security policy, throw nothing, and store no token', async () => {
    expect([...east.faults, ...west.faults]).toEqual([])
    for (const { page, context } of [east, west]) {
      expect(
        await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]),
      ).toEqual([0, 0, ''])
      expect(await context.storageState({ indexedDB: true })).toEqual({ cookies: [], origins: [] })
      expect(page.url()).toMatch(/\/ui\/(?:#\w+)?$/)
    }
  })
})

describe('every console page', () => {
  test('asks the other cluster only for status and health, without a token, and can read no other data there', async () => {
    const { page, context } = await opened(browser, pageOf(rehearsal.west))
    const asked: { path: string; token: string | undefined }[] = []
    page.on('request', request => {
      const { origin, pathname } = new URL(request.url())
      if (origin === originOf(rehearsal.east))
        asked.push({ path: pathname, token: request.headers()['x-vault-token'] })
    })
    await withTokens(page, { token: rehearsal.root, operation: rehearsal.token })
    await page.click('#readiness-ask')
    await page.waitForTimeout(5000)
    expect(new Set(asked.map(({ path }) => path))).toEqual(
      new Set(['/v1/sys/health', '/v1/sys/replication/dr/status']),
    )
    expect(asked.map(({ token }) => token).filter(Boolean)).toEqual([])
    const read = (path: string) =>
      page.evaluate(
        url =>
          fetch(url).then(
            answer => answer.status,
            error => String(error),
          ),
        rehearsal.east.base_url + path,
      )
    expect(await read('/sys/replication/dr/status')).toBe(200)
    for (const path of ['/sys/seal-status', '/sys/replication/status', '/sys/leader'])
      expect(await read(path), path).toMatch(/TypeError/)
    await context.close()
  })

  test('can be used by keyboard alone, in the order of the page', async () => {
    const { page, context } = await opened(browser, pageOf(rehearsal.west))
    await shows(page, 'own', 'serving')
    const reached: string[] = []
    for (let step = 0; step < 60; step += 1) {
      await page.keyboard.press('Tab')
      reached.push(
        await page.evaluate(() => document.activeElement?.id || (document.activeElement?.textContent ?? '')),
      )
    }
    expect(reached[0]).toBe('Skip to the clusters')
    const wanted = [
      'token',
      'operation-token',
      'forget',
      'readiness-ask',
      'confirm',
      'force',
      'report-ask',
      'roles-ask',
      'explain-login',
    ]
    // after the last element of the page, the focus starts again at the top
    const once = reached.slice(0, reached.indexOf('Skip to the clusters', 1))
    expect(once.filter(one => wanted.includes(one))).toEqual(wanted)
    await context.close()
  })

  test("fits a phone's screen, and is dark in dark mode", async () => {
    const dark = { viewport: { width: 375, height: 812 }, colorScheme: 'dark' }
    const { page, context } = await opened(browser, pageOf(rehearsal.west), dark)
    await shows(page, 'own', 'serving')
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375)
    const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    expect(Math.max(...(back.match(/\d+/g) ?? ['255']).map(Number))).toBeLessThan(60)
    await context.close()
  })
})
