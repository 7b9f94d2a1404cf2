import Crypto
import HTTPTypes
import Hummingbird
package import Poller
import SafeNumbers

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The sessions of the console: an API key, sealed into a cookie, so that a new tab of the same browser profile is signed
/// in.
///
/// *Problem*: a key in the storage of a tab is gone in the next one, and a colleague's link asks for it again. A key in
/// the storage of the whole origin could be read by any script there, and outlives the browser.
///
/// *Approach*: the cookie holds the key, encrypted (AES-GCM) with a key of the cluster, so every API process opens it and
/// none has to remember it. No script can read it (`HttpOnly`), it ends with the browser, and after ``span`` in any case.
/// A revoked key opens nothing, because the key itself is looked up at each request.
///
/// *Other sites* cannot use it: browsers do not send it with their requests (`SameSite=Strict`), and it counts only in
/// requests with the header `Poller-Console`, which a page of another origin cannot set without asking first (CORS), and
/// this API never allows. A cookie is sent to every port of a host, so it is worth nothing to a program that only
/// receives it, except for its own requests to this API until it ends.
///
/// *Rejected*: an identifier that the store knows, because signing in would need a write, and a store that is down would
/// sign everybody out.
package struct ConsoleSessions: Sendable {
    /// How long a cookie counts: a working day.
    static let span = Duration.seconds(12 * 3600)

    private let keys: RootKeys

    /// The sessions of a cluster; its processes share the roots.
    package init(roots: RootRing) {
        keys = RootKeys("poller console session", from: roots, span: Self.span)
    }

    /// Sessions that end with this process.
    package static var ephemeral: ConsoleSessions {
        var chance = SystemRandomNumberGenerator()
        let root = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &chance) }
        return ConsoleSessions(roots: RootRing(fixed: root))
    }

    /// The `Set-Cookie` that signs a browser in with an API key.
    func cookie(_ key: String, for request: Request, at now: Timestamp) -> String? {
        let isSecure = Self.isSecure(request)
        let name = Self.name(request, isSecure: isSecure)
        let end = now + Self.span
        let sealed = try? AES.GCM.seal(
            Array("\(end.ms) \(key)".utf8),
            using: keys.making,
            authenticating: Array(name.utf8)
        ).combined
        guard let sealed else { return nil }
        return "\(name)=\(Base64URL.encode(Array(sealed))); \(Self.attributes(isSecure: isSecure))"
    }

    /// The `Set-Cookie`s that sign a browser out, whichever of the names its cookie has.
    static func endings(_ request: Request) -> [String] {
        [true, false].map { isSecure in
            "\(name(request, isSecure: isSecure))=; Max-Age=0; \(attributes(isSecure: isSecure))"
        }
    }

    /// The API key of a request of the console; `nil` for any other request, and once its cookie has ended.
    func key(of request: Request, at now: Timestamp) -> String? {
        guard request.headers[.pollerConsole] != nil, Self.isOfSameOrigin(request) else {
            return nil
        }
        for isSecure in [true, false] {
            let name = Self.name(request, isSecure: isSecure)
            if let found = key(in: name, of: request, at: now) { return found }
        }
        return nil
    }

    /// The API key in a cookie of this name.
    private func key(in name: String, of request: Request, at now: Timestamp) -> String? {
        let shown = request.headers[values: .cookie]
            .flatMap { $0.split(separator: ";") }
            .map { $0.drop { $0 == " " } }
            .first { $0.hasPrefix("\(name)=") }?.dropFirst(name.utf8.count + 1)
        guard let shown, let bytes = Base64URL.decode(shown),
            let box = try? AES.GCM.SealedBox(combined: Data(bytes))
        else { return nil }
        for key in keys.accepted {
            let opened = try? AES.GCM.open(box, using: key, authenticating: Array(name.utf8))
            guard let opened else { continue }
            let parts = String(decoding: opened, as: UTF8.self)
                .split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let end = Int64(decimal: parts[0]), now.ms < end else {
                return nil
            }
            return String(parts[1])
        }
        return nil
    }

    /// Whether a browser that says where a request is from says that it is from this origin.
    static func isOfSameOrigin(_ request: Request) -> Bool {
        request.headers[.secFetchSite].map { $0 == "same-origin" } ?? true
    }

    /// One cookie for each server that a browser may know under a host: cookies do not tell ports and paths apart.
    ///
    /// `__Host-`: for this host alone, over TLS alone (RFC 6265bis §4.1.3.2); a plain name on this machine.
    private static func name(_ request: Request, isSecure: Bool) -> String {
        let port =
            (request.head.authority ?? "").split(separator: ":").last
            .flatMap { UInt16(decimal: $0) }.map { "-\($0)" } ?? ""
        let path = BasePath.current.description.replacing("/", with: "-")
        return "\(isSecure ? "__Host-" : "")poller-console\(path)\(port)"
    }

    private static func attributes(isSecure: Bool) -> String {
        "Path=/; HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
    }

    /// Whether the cookie is for TLS alone: everywhere but for a page that this machine has served to itself.
    ///
    /// The page's own address says so, which browsers send with every POST. `Host` does not: a proxy may put the
    /// server's address there, so that every page looks local.
    private static func isSecure(_ request: Request) -> Bool {
        let (origin, plain) = ((request.headers[.origin] ?? "").lowercased(), "http://")
        guard origin.hasPrefix(plain) else { return true }
        let authority = origin.dropFirst(plain.count)
        let host =
            authority.hasPrefix("[")
            ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        return !ListenAddress.isLoopback(host: host)
    }
}
