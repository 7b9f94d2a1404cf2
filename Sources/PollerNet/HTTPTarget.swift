package import Poller
import SafeNumbers

/// An HTTP URL taken apart, by rules narrow enough that every parser agrees on the host.
///
/// *Problem*: the guard judges the addresses of the host that we read, and the HTTP client connects to
/// the host that it reads. Where two parsers differ, one could be shown a host and the other led to
/// another: `http://a%2eb/`, `http://[fe80::1%25eth0]/`, `http://①②⑦.⓪.⓪.①/`.
/// *Approach*: a name is letters, digits, `-`, `.` and `_`, an address in brackets is one that the
/// system reads as v6, a port is digits; everything else is refused rather than understood. What is
/// requested is then put together anew from the parts.
package struct HTTPTarget: Hashable, Sendable {
    /// Whether it is `https`.
    package let isSecure: Bool
    /// Lower case, without the brackets of a v6 address.
    package let host: String
    /// As written, or the scheme's own.
    package let port: Int
    /// Scheme, host and port, all written out.
    private let origin: String
    /// Path and query as they were written.
    private let requested: String
    /// Path and query as they stand in the request line, where ``escaped`` characters are encoded.
    package let path: String

    /// Takes a URL apart.
    package init(_ notify: NotifyURL) throws(InvalidInput) {
        isSecure = notify.scheme == "https"
        let rest = notify.description.dropFirst(notify.scheme.utf8.count + 3)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let target = rest[authority.endIndex...].prefix { $0 != "#" }
        let portText: Substring?
        let hostText: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw Self.badHost }
            hostText = authority[authority.index(after: authority.startIndex)..<end]
            let tail = authority[authority.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else { throw Self.badHost }
            portText = tail.isEmpty ? nil : tail.dropFirst()
            guard hostText.contains(":"), IPAddress(String(hostText)) != nil else {
                throw Self.badHost
            }
        } else {
            let parts = authority.split(
                separator: ":",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            hostText = parts.first ?? ""
            portText = parts.count == 2 ? parts[1] : nil
            // A percent sign, a zone id or a non-ASCII digit is read differently by different
            // parsers: none may pass.
            let isPlain = hostText.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
            guard isPlain, (1...253).contains(hostText.utf8.count) else { throw Self.badHost }
        }
        host = hostText.lowercased()
        if let portText {
            guard portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let port = Int(decimal: portText), (1...65_535).contains(port)
            else {
                throw InvalidInput(field: "url", message: "has no port between 1 and 65535")
            }
            self.port = port
        } else {
            port = isSecure ? 443 : 80
        }
        // Written out with its port, so that the client has nothing left to infer.
        let bracketed = host.contains(":") ? "[\(host)]" : host
        origin = "\(notify.scheme)://\(bracketed):\(port)"
        requested = target.hasPrefix("/") ? String(target) : "/\(target)"
        path = Self.encoded(requested)
    }

    /// The same host with another path and query, which need no encoding.
    package init(_ other: HTTPTarget, path: String) {
        isSecure = other.isSecure
        host = other.host
        port = other.port
        origin = other.origin
        requested = path
        self.path = path
    }

    /// The whole URL as it is requested, without a fragment.
    package var url: String { origin + requested }

    /// What no URL may hold as it is (RFC 3986) and what some servers refuse, though people write it.
    private static let escaped = Set("\"<>^`{|}".utf8)

    private static func encoded(_ target: String) -> String {
        guard target.utf8.contains(where: escaped.contains) else { return target }
        return String(
            decoding: target.utf8.flatMap { byte in
                escaped.contains(byte)
                    ? Array("%\(String(byte, radix: 16, uppercase: true))".utf8) : [byte]
            },
            as: UTF8.self
        )
    }

    private static let badHost = InvalidInput(
        field: "url",
        message: "has a host that is neither a plain name nor an address in brackets"
    )
}
