declare module 'node-vault-client' {
  interface Lease {
    getValue(path: string): unknown
  }
  export default class VaultClient {
    constructor(options: unknown)
    read(path: string): Promise<Lease>
    list(path: string): Promise<Lease>
    static clear(): void
  }
}

declare module 'asl-validator' {
  export default function validate(definition: unknown): Promise<{ isValid: boolean; errors: unknown[] }>
}
