import type { ProveAccount } from '../../../../../infra/command/prove/account.ts'
import type {
  FoundStack,
  ProveCloud,
  StackResource,
  WantedStack,
} from '../../../../../infra/command/prove/cloud.ts'
import type { KubernetesAccess } from '../../../../../infra/command/prove/kubernetes.ts'
import { stackNameInRun } from '../../../../../infra/command/prove/names.ts'

/** An entry of a function's log about its start. */
const START = '{"record":{"metrics":{"initDurationMs": 412.5}}}'

/** An account in memory. Each call has a name, and a test makes calls fail or does something before them. */
export class AccountInMemory {
  readonly stacks = new Map<string, FoundStack>()
  readonly objects = new Map<string, Uint8Array>()
  readonly calls: string[] = []
  readonly wanted: WantedStack[] = []
  /** called before each call; an error that it throws is the call's answer */
  before: (call: string) => void = () => undefined
  /** stacks whose creation fails */
  readonly failing = new Set<string>()
  result: unknown = { logins: Array.from({ length: 20 }, () => ({ status: 200, ms: 7, token: true })) }

  /** EKS clusters by their names */
  readonly clusters = new Map<string, KubernetesAccess>()

  /** Opens the account. @param id account id */
  open(id: string): ProveAccount {
    return {
      id,
      cloud: this.cloud,
      callStsForGlobalHost: async () => 200,
      findEksCluster: async name => {
        this.enter(`cluster ${name}`)
        return this.clusters.get(name)
      },
    }
  }

  private enter(call: string): void {
    this.calls.push(call)
    this.before(call)
  }

  readonly cloud: ProveCloud = {
    findStack: async name => {
      this.enter(`find ${name}`)
      return this.stacks.get(name)
    },
    createStack: async wanted => {
      const { name, tags } = wanted
      this.wanted.push(wanted)
      this.enter(`create ${name}`)
      const isFailing = [...this.failing].some(part => name.endsWith(`-${part}`))
      const outputs = {
        Bucket: 'bucket',
        Address: 'https://api.example.com/v1',
        InitFunction: 'init',
        CeremonyFunction: 'ceremony',
        Function: 'probe',
        Instance: 'i-0123456789abcdef0',
      }
      this.stacks.set(name, {
        status: isFailing ? 'CREATE_FAILED' : 'CREATE_COMPLETE',
        tags: { ...tags },
        outputs,
      })
      // the account has made the stack, but the caller may not receive the answer
      this.enter(`created ${name}`)
    },
    deleteStack: async name => {
      this.enter(`delete ${name}`)
      if (name.endsWith('-assets') && this.objects.size > 0) throw new Error('the bucket is not empty')
      this.stacks.delete(name)
    },
    findStackFailure: async () => 'Table: the limit of tables is reached',
    listStackResources: async (name): Promise<StackResource[]> =>
      name.endsWith('-data')
        ? [{ logicalId: 'Key', physicalId: 'a-key', type: 'AWS::KMS::Key' }]
        : [
            { logicalId: 'Logs6819BB44', physicalId: 'logs', type: 'AWS::Logs::LogGroup' },
            { logicalId: 'Audit0123ABCD', physicalId: 'audit', type: 'AWS::Logs::LogGroup' },
            { logicalId: 'onpullFunction0123ABCD', physicalId: 'pull', type: 'AWS::Lambda::Function' },
            { logicalId: 'onjournalFunction0123ABCD', physicalId: 'journal', type: 'AWS::Lambda::Function' },
          ],
    putObject: async (bucket, key, bytes) => {
      this.enter(`put ${key}`)
      this.objects.set(`${bucket}/${key}`, bytes)
    },
    emptyBucket: async () => {
      this.enter('empty')
      this.objects.clear()
    },
    invokeFunction: async name => {
      this.enter(`invoke ${name}`)
      if (name !== 'init') return this.result
      return {
        statusCode: 200,
        body: JSON.stringify({ root_token: 'the-root-token', recovery_keys: ['the-share'] }),
      }
    },
    startFunction: async name => this.enter(`start ${name}`),
    filterLog: async (group, pattern) => {
      this.enter(`filter ${group}`)
      return group === 'audit' ? ['request', 'response'] : pattern.includes('initDurationMs') ? [START] : []
    },
    findVpc: async () => 'vpc-1',
  }

  /** Returns the parts of a run's stacks that exist. */
  partsLeft = (run: string): string[] =>
    [...this.stacks.keys()].map(name => name.slice(stackNameInRun(run, 'api').length - 'api'.length))
}
