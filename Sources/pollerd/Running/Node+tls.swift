import PollerIdentity
import PollerNet

/// Certificates of listeners.
extension Node {
    /// Returns the certificate of a listener, or `nil` for plain HTTP.
    func tls(_ listener: String) throws(InvalidInput) -> ListenerTLS? {
        guard let files = settings.tls[listener] else { return nil }
        return try ListenerTLS(
            listener: listener,
            files,
            clock: clock,
            logger: log("tls")
        )
    }
}

extension OptionReader {
    /// Reads the certificate files of the listeners, by listener name.
    func tls() throws(ConfigurationError) -> [String: ListenerTLSFiles] {
        var found: [String: ListenerTLSFiles] = [:]
        for name in ["api", "gateway", "admin"] {
            let (certificate, key) = (text("\(name)_tls_certificate"), text("\(name)_tls_key"))
            guard (certificate == nil) == (key == nil) else {
                throw wrong("\(name)_tls_key", "and \(name)_tls_certificate go together: set both")
            }
            guard let certificate, let key else { continue }
            found[name] = ListenerTLSFiles(
                certificate: certificate,
                key: key,
                clientCA: name == "admin" ? text("admin_client_ca") : nil
            )
        }
        guard text("admin_client_ca") == nil || found["admin"] != nil else {
            throw wrong("admin_client_ca", "needs admin_tls_certificate and admin_tls_key")
        }
        return found
    }
}
