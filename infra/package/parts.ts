/** Peer dependencies of the package. */
export const peers = ['aws-cdk-lib', 'constructs'] as const
