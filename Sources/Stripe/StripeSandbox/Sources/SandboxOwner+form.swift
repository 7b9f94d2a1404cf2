extension SandboxOwner {
    /// Takes over the fields given under `owner`.
    mutating func update(from form: Form) {
        if let text = form["owner", "name"] { name = text.isEmpty ? nil : text }
        if let text = form["owner", "email"] { email = text.isEmpty ? nil : text }
        if let text = form["owner", "phone"] { phone = text.isEmpty ? nil : text }
        for field in Self.addressFields {
            if let text = form["owner", "address", field] {
                address[field] = text.isEmpty ? nil : text
            }
        }
    }
}
