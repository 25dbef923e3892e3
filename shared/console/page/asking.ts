import { type ApiAnswer, askApi, faultText, ownApiUrl } from './ask.ts'
import { elementById, replaceContent, showText } from './dom.ts'
import { pageModel } from './model.ts'

/** Number of the last request of each element. An older answer is not shown. */
const last = new Map<string, number>()

/**
 * Runs requests for the elements `<name>-said` and `<name>-shown`. The old result disappears at once, and a failure
 * is shown as a sentence.
 * @param ask returns undefined if the result is a failure that is already shown
 * @param show shows the result, unless a later request was started
 */
export async function askFor<T>(
  name: string,
  ask: () => Promise<T>,
  show: (answer: T) => void,
): Promise<void> {
  const number = (last.get(name) ?? 0) + 1
  last.set(name, number)
  replaceContent(elementById(`${name}-shown`), `request ${number}`, () => [])
  showText(`${name}-said`, 'Requesting …')
  try {
    const answer = await ask()
    if (last.get(name) !== number) return
    showText(`${name}-said`, '')
    show(answer)
  } catch (error) {
    if (last.get(name) === number) showText(`${name}-said`, (error as Error).message, 'bad')
  }
}

/** Forgets a result; a running request shows nothing any more. */
export function clearResult(name: string): void {
  last.set(name, (last.get(name) ?? 0) + 1)
  replaceContent(elementById(`${name}-shown`), 'nothing', () => [])
  showText(`${name}-said`, '')
}

interface OwnQuestion {
  method?: 'DELETE'
  body?: object
  /** a status that counts as an answer */
  admits?: 404
}

/** Sends a request to this cluster. @throws Error with a sentence about the refusal or the silence */
export async function askOrThrow(
  path: string,
  { admits, ...question }: OwnQuestion = {},
): Promise<ApiAnswer> {
  const token = pageModel.token || pageModel.operationToken
  const answer = await askApi(ownApiUrl, path, { token, ...question }).catch((error: unknown) => {
    throw new Error(`The cluster did not answer: ${faultText(error)}.`)
  })
  if (answer.isOk || answer.status === admits) return answer
  throw new Error(token === '' ? `${answer.refused} No token was entered.` : answer.refused)
}
