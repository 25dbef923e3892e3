import { anyField, lowerTextField, textField } from '../../api/fields.ts'

/** The parameters of a login. @see docs/spec/login-ec2.md#which-type-of-login */
export const loginFields = {
  role: lowerTextField(
    'Role to log in against; default: the AMI ID (ec2), or the name of the user or role (iam, jwt)',
  ),
  identity: textField('ec2: identity document as base64, together with `signature`', { secret: true }),
  signature: textField('ec2: base64 SHA-256 RSA signature of the identity document', { secret: true }),
  pkcs7: textField('ec2: `rsa2048` or `pkcs7` metadata document', { secret: true }),
  nonce: textField(
    'ec2: secret that later logins of the instance must repeat; if empty, later logins are refused',
    {
      secret: true,
    },
  ),
  iam_http_request_method: textField('iam: method of the signed request, GET or POST'),
  iam_request_url: textField('iam: base64 of the URL of the signed request', { secret: true }),
  iam_request_body: textField('iam: base64 of the body of the signed request'),
  iam_request_headers: anyField('iam: headers of the signed request, an object or base64 of its JSON text', {
    secret: true,
  }),
  jwt: textField('jwt: token that AWS signed (sts:GetWebIdentityToken)', { secret: true }),
}
