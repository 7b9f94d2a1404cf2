/// Decides whether a request was made on this machine, according to its own headers.
///
/// A server without keys trusts its machine. Two others can send requests there. A page in a
/// browser may use a name that resolves to this machine (DNS rebinding); the requested host reveals
/// that. And a proxy may forward the requests of its clients; the headers that proxies add reveal
/// that. A proxy that adds none of them and requests a local name looks like a client: a server
/// behind one needs keys.
package enum LocalRequest {
    /// Forwarded: RFC 7239; Via: RFC 9110 §7.6.3; CDN-Loop: RFC 8586; the others are sent by nginx,
    /// Envoy, Akamai, Cloudflare, Fastly and similar proxies.
    private static let forwarding: Set<String> = [
        "forwarded", "via", "cdn-loop", "x-real-ip", "x-client-ip", "x-cluster-client-ip",
        "client-ip", "true-client-ip", "cf-connecting-ip", "cf-ray", "fastly-client-ip",
    ]
    /// X-Forwarded-For, -Host, -Proto …, and the variants that ingresses keep of them.
    private static let families = ["x-forwarded", "x-original-", "x-envoy-"]

    /// Returns whether every host that a request names is on this machine and no proxy has
    /// forwarded it.
    ///
    /// - `hosts`: the values of `Host` and of other fields that name the destination. An empty list
    ///   is not local, because every browser and every proxy names a host.
    /// - `headers`: the names of its headers.
    package static func isLocal(
        hosts: some Collection<String>,
        headers: some Sequence<String>
    ) -> Bool {
        !hosts.isEmpty && hosts.allSatisfy(isThisMachine) && !headers.contains(where: isForwarding)
    }

    /// Returns whether `host` or `host:port` is this machine: `localhost` or a loopback address.
    private static func isThisMachine(_ authority: String) -> Bool {
        let host: Substring
        let rest: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return false }
            host = authority[..<end].dropFirst()
            rest = authority[end...].dropFirst()
        } else {
            host = authority.prefix { $0 != ":" }
            rest = authority.dropFirst(host.count)
        }
        // Only a port may follow; anything else is an attempt to deceive the parser.
        let isPort = rest.hasPrefix(":") && rest.dropFirst().allSatisfy { "0"..."9" ~= $0 }
        guard rest.isEmpty || isPort else { return false }
        return host.lowercased() == "localhost" || IPAddress(String(host))?.isLoopback ?? false
    }

    private static func isForwarding(_ header: String) -> Bool {
        let name = header.lowercased()
        return forwarding.contains(name) || families.contains { name.hasPrefix($0) }
    }
}
