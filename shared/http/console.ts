import { readFileSync } from 'node:fs'
import type { GroupHandler } from './cross-origin.ts'
import { toFrontAnswer, toHttpRequest } from './events.ts'

/** The files of the console page and their types, by the last part of their paths. */
const FILES: Readonly<Record<string, { file: string; type: string }>> = {
  '': { file: 'index.html', type: 'text/html; charset=utf-8' },
  'page.js': { file: 'page.js', type: 'text/javascript; charset=utf-8' },
  'style.css': { file: 'style.css', type: 'text/css; charset=utf-8' },
}

interface ConsoleOptions {
  /** true if the page is served at all */
  isServed: boolean
  /** origin of the other cluster; empty: none */
  peer: string
  /** URL of the folder with the files, with a trailing slash */
  folder: URL
}

/**
 * Serves the console page below `/ui/` and passes other requests to the handler. The page is the same for everyone: it needs no
 * authentication and reads only its own files.
 */
export function createConsoleHandler(
  { isServed, peer, folder }: ConsoleOptions,
  handler: GroupHandler,
): GroupHandler {
  if (!isServed) return handler
  const texts = new Map<string, string>()
  const textOf = (file: string): string => {
    const text = texts.get(file) ?? readFileSync(new URL(file, folder), 'utf8')
    texts.set(file, text)
    return text
  }
  return async (event, context) => {
    const { method, path } = toHttpRequest(event, 0)
    const isRead = method === 'GET' || method === 'HEAD'
    const [, rest] = /^\/ui(?:\/(.*))?$/.exec(path) ?? ['', undefined]
    if (!isRead || (rest === undefined && path !== '/ui')) return handler(event, context)
    const answer = (status: number, more: Record<string, string>, body: string) =>
      toFrontAnswer(event, { status, headers: { ...headersFor(peer), ...more }, body }, method === 'HEAD')
    if (rest === undefined) return answer(302, { location: 'ui/' }, '')
    if (rest === 'settings.json')
      return answer(200, { 'content-type': 'application/json' }, JSON.stringify({ peer }))
    const found = Object.hasOwn(FILES, rest) ? FILES[rest] : undefined
    return found ? answer(200, { 'content-type': found.type }, textOf(found.file)) : handler(event, context)
  }
}

/** Returns security headers that allow only the page's own files and requests to its own and the other cluster, and forbid framing. */
const headersFor = (peer: string): Record<string, string> => ({
  'cache-control': 'no-cache',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    `connect-src ${["'self'", peer].filter(Boolean).join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
})
