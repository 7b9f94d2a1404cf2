/// Builds the address a customer comes back to.
enum ReturnURL {
    /// Adds parameters to a URL, in front of its fragment; names already present are overwritten, as documented.
    static func adding(_ parameters: [(name: String, value: String)], to url: String) -> String {
        let parts = url.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let pieces = parts[0].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let reserved = Set(parameters.map(\.name))
        var items = (pieces.count > 1 ? pieces[1] : "").split(separator: "&").filter { item in
            !reserved.contains(String(item.prefix { $0 != "=" }))
        }
        items += parameters.map { "\($0.name)=\($0.value)" }
        let fragment = parts.count > 1 ? "#" + parts[1] : ""
        return pieces[0] + "?" + items.joined(separator: "&") + fragment
    }
}
