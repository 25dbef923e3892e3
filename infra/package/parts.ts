/** Peer dependencies of the package. */
export const peerPackageNames = ['aws-cdk-lib', 'constructs'] as const
