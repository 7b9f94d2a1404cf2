import NIOSSL

/// Describes TLS errors for an operator.
///
/// BoringSSL's own descriptions end with the source path on the build machine, which is useless to
/// a reader and private.
package enum TLSErrorText {
    /// Returns a short text for an error; an error of another kind is described as usual.
    package static func text(of error: any Error) -> String {
        switch error {
        case NIOSSLError.handshakeFailed(let cause): "the handshake failed: \(text(of: cause))"
        case NIOSSLError.shutdownFailed(let cause): "the shutdown failed: \(text(of: cause))"
        case BoringSSLError.sslError(let stack), BoringSSLError.unknownError(let stack),
            BoringSSLError.invalidSNIName(let stack), BoringSSLError.failedToSetALPN(let stack):
            stack.isEmpty ? "unknown reason" : stack.map(reason).joined(separator: ", ")
        default: "\(error)"
        }
    }

    /// Returns `CERTIFICATE_VERIFY_FAILED` for `Error: 268435581 error:1000007d:SSL
    /// routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at …`.
    private static func reason(_ error: BoringSSLInternalError) -> String {
        let text = "\(error)"
        let code = text.split(separator: " at ").first?.split(separator: ":").last.map(String.init)
        guard let code, code == distrust else { return code ?? text }
        return "\(code): expired, or not signed by a trusted authority"
    }

    private static let distrust = "CERTIFICATE_VERIFY_FAILED"
}
