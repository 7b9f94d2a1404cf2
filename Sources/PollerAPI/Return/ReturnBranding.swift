package import Poller

/// Whose page a customer comes back to.
package struct ReturnBranding: Hashable, Sendable {
    /// The shop's name.
    package let name: String
    /// Where "back to the shop" leads; the only link of the page.
    package let homeURL: String?

    /// Checks a shop.
    ///
    /// `homeURL` is an https address, or an http one of this machine.
    package init(name: String, homeURL: String? = nil) throws(InvalidInput) {
        guard (1...80).contains(name.count) else {
            throw InvalidInput(field: "return_page.name", message: "must have 1 to 80 characters")
        }
        if let homeURL {
            let isPlain = homeURL.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            let isLocal =
                homeURL.hasPrefix("http://127.0.0.1") || homeURL.hasPrefix("http://localhost")
            guard isPlain, homeURL.hasPrefix("https://") || isLocal, homeURL.utf8.count <= 2048
            else {
                throw InvalidInput(
                    field: "return_page.url",
                    message: "must be an https address such as https://shop.example/orders"
                )
            }
        }
        self.name = name
        self.homeURL = homeURL
    }
}
