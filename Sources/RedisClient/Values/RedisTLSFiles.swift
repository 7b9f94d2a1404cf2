/// The PEM files that a TLS connection uses; what is `nil` is not used.
package struct RedisTLSFiles: Sendable, Hashable {
    /// The authorities to trust in place of the system's.
    package var authorities: String?
    /// Our certificate chain, for servers that ask for one (`tls-auth-clients yes`, Redis' default).
    package var certificate: String?
    /// The private key of ``certificate``.
    package var key: String?

    /// No files: the system's authorities and no client certificate.
    package init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
        self.authorities = authorities
        self.certificate = certificate
        self.key = key
    }
}
