import { createServer } from 'node:http'
import { closeServer, listenOnLoopback } from '../../../infra/local/os/loopback.ts'

/** An update of a Route 53 health check. Absent members keep their values. */
interface Update {
  check: string
  Disabled?: string
  Inverted?: string
}

const answerFor = (check: string): string =>
  `<?xml version="1.0"?><UpdateHealthCheckResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><HealthCheck><Id>${check}</Id><CallerReference>x</CallerReference><HealthCheckConfig><Type>HTTPS</Type></HealthCheckConfig><HealthCheckVersion>2</HealthCheckVersion></HealthCheck></UpdateHealthCheckResponse>`

/** Serves UpdateHealthCheck of Route 53 and records the updates of health checks. */
export async function healthChecks(): Promise<{ url: string; updates: Update[]; close(): Promise<void> }> {
  const updates: Update[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    const check = /^\/2013-04-01\/healthcheck\/([\w-]+)$/.exec(request.url ?? '')?.[1]
    if (request.method !== 'POST' || check === undefined) return response.writeHead(404).end()
    const members = [...text.matchAll(/<(Disabled|Inverted)>(\w+)</g)].map(([, name, value]) => [name, value])
    updates.push({ check, ...(Object.fromEntries(members) as Omit<Update, 'check'>) })
    return response.writeHead(200, { 'content-type': 'text/xml' }).end(answerFor(check))
  })
  return { url: await listenOnLoopback(server), updates, close: () => closeServer(server) }
}
