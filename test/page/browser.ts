import { accessSync, constants, mkdirSync } from 'node:fs'
import { delimiter } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { checkoutRoot } from '../../infra/checkout.ts'

/** Names of the browser in Debian and elsewhere. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** @throws Error if this machine has no browser, because the page must be tested in a real browser */
function browserProgram(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const found = folders.flatMap(folder => NAMES.map(name => `${folder}/${name}`)).find(isProgram)
  if (found) return found
  throw new Error('THE PAGE HAS BEEN TESTED IN NO BROWSER: there is none on this machine; install chromium')
}

/** The folder of screenshots. */
const SHOTS = `${checkoutRoot}.build/screenshots`

export const openBrowser = (): Promise<Browser> => {
  mkdirSync(SHOTS, { recursive: true })
  // the browser opens only our page, and containers lack the namespaces of the sandbox
  return chromium.launch({ executablePath: browserProgram(), args: ['--no-sandbox'] })
}

/** An open page in the browser, and the page's errors. */
export interface Opened {
  page: Page
  context: BrowserContext
  /** errors that the browser reports or that the page throws */
  faults: string[]
}

/** Opens a page, and collects the browser's errors except failed requests. */
export async function opened(browser: Browser, address: string, options = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', error => faults.push(String(error)))
  page.on('dialog', dialog => faults.push(`dialog: ${dialog.message()}`))
  page.on('console', message => {
    const text = message.text()
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) faults.push(text)
  })
  await page.goto(address)
  return { page, context, faults }
}

const shot = (page: Page, name: string): Promise<Buffer> =>
  page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true })

/** Takes screenshots of the page in light, in dark, and at a phone's width. */
export async function shots(page: Page, name: string): Promise<void> {
  await shot(page, `${name}-light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  await shot(page, `${name}-dark`)
  await page.setViewportSize({ width: 375, height: 812 })
  await shot(page, `${name}-phone`)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1200, height: 900 })
}
