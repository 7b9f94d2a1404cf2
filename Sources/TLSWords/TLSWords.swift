import NIOSSL

/// What TLS errors say to an operator.
///
/// BoringSSL's own descriptions end with the source file in which an error arose, as it was called on the machine that
/// built the program: of no use to a reader, and nobody's business.
package enum TLSWords {
    /// An error in a few words; what is no error of TLS in its own.
    package static func text(of error: any Error) -> String {
        switch error {
        case NIOSSLError.handshakeFailed(let cause): "the handshake failed: \(text(of: cause))"
        case NIOSSLError.shutdownFailed(let cause): "the shutdown failed: \(text(of: cause))"
        case BoringSSLError.sslError(let stack), BoringSSLError.unknownError(let stack),
            BoringSSLError.invalidSNIName(let stack), BoringSSLError.failedToSetALPN(let stack):
            stack.isEmpty ? "no reason" : stack.map(reason).joined(separator: ", ")
        default: "\(error)"
        }
    }

    /// `CERTIFICATE_VERIFY_FAILED` of `Error: 268435581 error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at …`.
    private static func reason(_ error: BoringSSLInternalError) -> String {
        let text = "\(error)"
        let code = text.split(separator: " at ").first?.split(separator: ":").last.map(String.init)
        guard let code, code == distrust else { return code ?? text }
        return "\(code), signed by no authority that is trusted here, or expired"
    }

    private static let distrust = "CERTIFICATE_VERIFY_FAILED"
}
