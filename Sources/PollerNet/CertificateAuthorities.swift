import Foundation
package import NIOSSL
package import PollerIdentity

/// Certificate authorities that an operator trusts in addition to those of the machine:
/// `POLLER_CA_FILE`.
///
/// They are used for receivers, upstreams, the relay and Redis, whose certificates are often signed
/// by a company's own authority.
package struct CertificateAuthorities: Sendable {
    /// A bundle of all public authorities has 250 KB.
    private static let fileBytesMax = 4_194_304

    /// The PEM file, for libraries that read it themselves.
    package let file: String
    /// The certificates of the file.
    package let certificates: [NIOSSLCertificate]

    /// Reads a PEM file.
    ///
    /// Errors: ``InvalidInput`` for the field `ca_file`.
    package init(file: String) throws(InvalidInput) {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: file)), !data.isEmpty,
            data.count <= Self.fileBytesMax
        else {
            throw InvalidInput(
                "ca_file",
                "cannot be read at \(file): it must be a PEM file that pollerd may read"
            )
        }
        // The reason for invalid PEM would be one of BoringSSL's codes.
        let found = try? NIOSSLCertificate.fromPEMBytes(Array(data))
        guard let found, !found.isEmpty else {
            throw InvalidInput(
                "ca_file",
                "holds no certificate at \(file): PEM is needed, -----BEGIN CERTIFICATE-----"
            )
        }
        self.file = file
        certificates = found
    }
}
