import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser, opened, shots } from './browser.ts'
import { servePage } from './served.ts'
import { playSituation, situations } from './situations.ts'

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

/** The tone and the headline of each situation. */
const headlines: Readonly<Record<keyof typeof situations, readonly [tone: string, headline: RegExp]>> = {
  healthy: ['good', /^“east.*” serves, and “west.*” is its secondary\.$/],
  switching: ['busy', /^“west.*” is taking over from “east.*”\. This needs no action/],
  finishing: ['busy', /^“west.*”: The operation promotion is running, at the step open/],
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
    await shots(page, `situation-${name}`)
    await context.close()
  },
)

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
