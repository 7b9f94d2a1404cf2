import Poller

extension YAMLNode {
    /// What customers of an account see; see ``Branding`` for an example.
    func branding() throws(ConfigurationError) -> Branding {
        _ = try members(allowed: ["name", "url", "support", "colour", "logo"])
        let name = try required("name").text()
        let texts = try (
            url: optional("url"), support: optional("support"), colour: optional("colour"),
            logo: optional("logo")
        )
        return try checked { () throws(InvalidInput) in
            try Branding(
                name: name,
                homeURL: texts.url,
                support: texts.support,
                colour: texts.colour,
                logoURL: texts.logo
            )
        }
    }

    private func optional(_ name: String) throws(ConfigurationError) -> String? {
        try member(name).map { node throws(ConfigurationError) in try node.text() }
    }
}
