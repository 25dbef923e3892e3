import { spanOf } from '../../values/words.ts'
import { showClusters } from './clusters.ts'
import { byId, input, say, show, tick } from './dom.ts'
import { bindLooks, showCommands, showEnds } from './looks.ts'
import { lookAtOwn, lookAtPeer, model, readPageSettings } from './model.ts'
import { bindSwitch, showSwitch } from './switch.ts'

/** Milliseconds between two questions to both clusters; none is asked while nobody looks at the page. */
const PAUSE_MS = 2000
const HURRIED_MS = 300
const SLICE_MS = 100
const TICK_MS = 1000

function showAll(): void {
  const now = Date.now()
  showClusters(now)
  showSwitch(now)
  showEnds(now)
  showCommands()
  tick(spanOf, now)
}

const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Looks again and again, and oftener as long as something goes on that was ordered here. */
async function lookOn(look: () => Promise<void>): Promise<void> {
  for (;;) {
    if (!document.hidden) await look()
    showAll()
    for (let waited = 0; waited < (model.isOrdered ? HURRIED_MS : PAUSE_MS); waited += SLICE_MS)
      await sleep(SLICE_MS)
  }
}

/** Tokens are kept in this page's memory alone: the fields are emptied as soon as they are read. */
function useTokens(event: Event): void {
  event.preventDefault()
  const [token, operationToken] = [input('token'), input('operation-token')]
  model.token = token.value.trim() || model.token
  model.operationToken = operationToken.value.trim() || model.operationToken
  token.value = ''
  operationToken.value = ''
  sayTokens()
}

function forgetTokens(): void {
  Object.assign(model, { token: '', operationToken: '', readiness: undefined, certificates: [] })
  for (const id of ['token', 'operation-token']) input(id).value = ''
  // a signed login is a secret too, for as long as it counts
  byId('explain-login', HTMLTextAreaElement).value = ''
  for (const id of ['roles-shown', 'role-shown', 'report-shown', 'explain-shown'])
    show(byId(id), 'nothing', () => [])
  sayTokens()
}

function sayTokens(): void {
  const held = [model.token && 'a token', model.operationToken && 'a DR operation token'].filter(Boolean)
  say(
    'access-said',
    held.length === 0 ? 'This page holds no token.' : `This page holds ${held.join(' and ')}.`,
  )
  showAll()
}

byId('access-form').addEventListener('submit', useTokens)
byId('forget').addEventListener('click', forgetTokens)
bindSwitch()
bindLooks()
sayTokens()
setInterval(() => {
  const now = Date.now()
  showSwitch(now)
  tick(spanOf, now)
}, TICK_MS)
await readPageSettings()
await Promise.all([lookOn(lookAtOwn), lookOn(lookAtPeer)])
