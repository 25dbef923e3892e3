import { after, type Call, type Outcome } from '../api/call.ts'
import { batchTokenStays } from '../replication/manage/refusals.ts'
import { voidOperationToken } from './generated-token.ts'

/** POST sys/replication/dr/secondary/operation-token/delete: the token in the body is void from now on. */
export function deleteOperationToken({ operator }: Call): Outcome {
  if (operator !== 'generated') throw batchTokenStays()
  return after([voidOperationToken()])
}
