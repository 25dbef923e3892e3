import { parseArgs } from 'node:util'
import { startProvider } from './provider.ts'

// Usage: node infra/local/provider/main.ts [--port N] [--state FILE]
const { values } = parseArgs({ options: { port: { type: 'string' }, state: { type: 'string' } } })

const provider = await startProvider({
  port: Number(values.port ?? 0),
  ...(values.state === undefined ? {} : { stateFile: values.state }),
})
process.stdout.write(`${JSON.stringify({ url: provider.url })}\n`)

let stopping = false
const stop = () => {
  if (stopping) return
  stopping = true
  provider.close().then(
    () => process.exit(0),
    error => {
      process.stderr.write(`${error}\n`)
      process.exit(1)
    },
  )
}
process.once('SIGTERM', stop).once('SIGINT', stop)
