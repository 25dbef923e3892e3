/** What the package needs of whoever installs it, by its name here. */
export const peers = ['aws-cdk-lib', 'constructs'] as const
