import Foundation

/// The hosts under which a sandbox is served: those that a web page of another site cannot have.
///
/// The sandbox is not protected by keys. With DNS rebinding, a web page could point its own name to a sandbox on the
/// developer's machine and read and change everything. Its requests carry the page's name in `Host`.
///
/// | bound to | served under |
/// |---|---|
/// | loopback | `localhost`, names in `.localhost`, loopback addresses |
/// | another address | in addition every IP address, names without a dot and names in `.svc`, `.local` and `.internal`: those of Compose, Kubernetes and Docker, none of which is in the public DNS |
/// | either | the address of `--bind`, the host of `--public-url`, the names of `--allow-host` |
package struct SandboxHosts: Sendable {
    private static let privateDomains = [".svc", ".local", ".internal"]

    private let isPublic: Bool
    private let named: Set<String>

    /// Creates the hosts of a sandbox that listens on `bind`.
    package init(bind: String, publicURL: String?, allowed: [String]) {
        isPublic = !Self.isLoopback(bind)
        let own = [bind, publicURL.flatMap { URL(string: $0)?.host }].compactMap(\.self)
        named = Set((own + allowed).map { $0.lowercased() })
    }

    /// Returns whether a request with this `Host`, with or without a port, is served.
    func serves(_ authority: String) -> Bool {
        guard let host = Self.host(of: authority.lowercased()) else { return false }
        if named.contains(host) || Self.isLoopback(host) || host.hasSuffix(".localhost") {
            return true
        }
        return isPublic
            && (Self.isAddress(host) || !host.contains(".")
                || Self.privateDomains.contains { host.hasSuffix($0) })
    }

    /// Returns whether a host is spelled as `localhost` or a loopback address.
    ///
    /// Other names may resolve to any address.
    package static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.") && isAddress(host)
    }

    /// Returns whether a host is an IP address, for which a browser does not use DNS.
    private static func isAddress(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return host.contains(":")
            || parts.count == 4 && parts.allSatisfy { UInt8($0, radix: 10) != nil }
    }

    /// Returns the host of `host[:port]` or `[address][:port]`, without brackets and a final dot.
    private static func host(of authority: String) -> String? {
        var host: Substring
        let port: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[..<end].dropFirst()
            port = authority[end...].dropFirst()
        } else {
            host = authority.prefix { $0 != ":" }
            port = authority.dropFirst(host.count)
        }
        guard port.isEmpty || port.first == ":" && port.dropFirst().allSatisfy(\.isNumber) else {
            return nil
        }
        if host.hasSuffix(".") { host = host.dropLast() }
        return host.isEmpty ? nil : String(host)
    }
}
