/// The origin of a web page, as browsers send it in `Origin` (RFC 6454 §7).
package struct WebOrigin: Hashable, Sendable {
    private let isSecure: Bool
    private let authority: Authority

    /// A host and a port, normalised.
    private struct Authority: Hashable {
        let host: String
        let port: UInt16

        /// Parses `host[:port]`; `nil` for anything else.
        init?(_ text: some StringProtocol, standardPort: UInt16) {
            let end: String.Index
            let text = text.lowercased()
            if text.hasPrefix("[") {
                guard let bracket = text.firstIndex(of: "]") else { return nil }
                end = text.index(after: bracket)
            } else {
                end = text.firstIndex(of: ":") ?? text.endIndex
            }
            guard end > text.startIndex, !text.contains(where: { "/?#@\\ ".contains($0) }) else {
                return nil
            }
            host = String(text[..<end])
            if end == text.endIndex {
                port = standardPort
            } else {
                let digits = text[end...].dropFirst()
                guard text[end] == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                    let number = UInt16(digits, radix: 10)
                else { return nil }
                port = number
            }
        }
    }

    /// Parses `http://host[:port]` or `https://host[:port]`; `nil` for `null` and everything else.
    package init?(_ text: String) {
        let schemes: [(String, Bool, UInt16)] = [("http://", false, 80), ("https://", true, 443)]
        for (prefix, isSecure, port) in schemes where text.lowercased().hasPrefix(prefix) {
            let rest = text.dropFirst(prefix.count)
            guard let authority = Authority(rest, standardPort: port) else { return nil }
            (self.isSecure, self.authority) = (isSecure, authority)
            return
        }
        return nil
    }

    /// Returns whether a page of this origin was served under the `Host` of a request, so that the
    /// request is not cross-origin.
    ///
    /// - `isSecure`: whether the server uses TLS; `nil` when a proxy may do so for the server.
    package func isServed(at host: String, isSecure: Bool?) -> Bool {
        guard isSecure ?? self.isSecure == self.isSecure else { return false }
        return Authority(host, standardPort: self.isSecure ? 443 : 80) == authority
    }
}
