/// Whether a request was made on this machine, as far as it says so itself.
///
/// A server without keys trusts its machine. Two others can speak there: a page in a browser, under a
/// name that leads here (DNS rebinding), which the host it asks for gives away; and a proxy, for
/// whoever reaches it, which the headers give away that proxies add. A proxy that adds none of them
/// and asks for a local name cannot be told from a client: a server behind one needs keys.
package enum LocalRequest {
    /// Forwarded: RFC 7239; Via: RFC 9110 §7.6.3; CDN-Loop: RFC 8586; the others are what nginx,
    /// Envoy, Akamai, Cloudflare, Fastly and their like send.
    private static let forwarding: Set<String> = [
        "forwarded", "via", "cdn-loop", "x-real-ip", "x-client-ip", "x-cluster-client-ip",
        "client-ip", "true-client-ip", "cf-connecting-ip", "cf-ray", "fastly-client-ip",
    ]
    /// X-Forwarded-For, -Host, -Proto …, and what ingresses keep of them.
    private static let families = ["x-forwarded", "x-original-", "x-envoy-"]

    /// Whether everything that a request names is on this machine and nobody has passed it on.
    ///
    /// - `hosts`: the values of `Host` and whatever else names where the request goes; none is not
    ///   local, because every browser and every proxy names one.
    /// - `headers`: the names of its headers.
    package static func isLocal(
        hosts: some Collection<String>,
        headers: some Sequence<String>
    ) -> Bool {
        !hosts.isEmpty && hosts.allSatisfy(isThisMachine) && !headers.contains(where: isForwarding)
    }

    /// Whether `host` or `host:port` is this machine: `localhost` or an address of its own.
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
        // What follows can only be a port, or this is no authority but a trick.
        let isPort = rest.hasPrefix(":") && rest.dropFirst().allSatisfy { "0"..."9" ~= $0 }
        guard rest.isEmpty || isPort else { return false }
        return host.lowercased() == "localhost" || IPAddress(String(host))?.isLoopback ?? false
    }

    private static func isForwarding(_ header: String) -> Bool {
        let name = header.lowercased()
        return forwarding.contains(name) || families.contains { name.hasPrefix($0) }
    }
}
