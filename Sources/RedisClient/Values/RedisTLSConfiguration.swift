/// How `rediss://` connections are secured.
package struct RedisTLSConfiguration: Sendable, Hashable {
    /// A PEM file with the authorities to trust; `nil` trusts the system's.
    package var trustRootsFile: String?
    /// Whether the server's certificate and name are verified.
    ///
    /// Turn off for experiments only: without it anybody on the path can read and change everything.
    package var verifiesServer = true
    /// A PEM file with our certificate chain, for servers that ask for one (`tls-auth-clients yes`,
    /// Redis' default).
    package var certificateChainFile: String?
    /// The PEM file with the private key of ``certificateChainFile``.
    package var privateKeyFile: String?

    /// The system's trust roots, verification on, no client certificate.
    package init() {}
}
