import NIOCore

/// An object of an account, which requests find by its ID and list.
protocol OwnedObject: Sendable {
    /// The name in errors about an ID.
    static var kind: String { get }
    /// The connected account that owns the object; `nil` for the platform.
    var account: String? { get }
    /// Seconds since 1970.
    var created: Int { get }
    /// Whether lists and searches leave it out.
    var isDeleted: Bool { get }
}

extension OwnedObject {
    var isDeleted: Bool { false }
}

extension ObjectTable where Object: OwnedObject {
    /// Returns the caller's object with the ID in the path.
    func found(_ call: APICall) throws(APIError) -> Object {
        let id = call.segment(1)
        guard let found = self[id], found.account == call.account else {
            throw APIError.noSuch(Object.kind, id)
        }
        return found
    }

    /// Lists the caller's objects.
    ///
    /// - Parameters:
    ///   - call: The request.
    ///   - filters: The parameters that select objects, besides `created`, and the value that each must equal.
    ///   - isStrict: Whether unknown parameters are rejected.
    ///   - matches: Whether an object belongs to the list.
    ///   - json: Returns the JSON of an object.
    /// - Returns: One page.
    /// - Throws: An error for an invalid or unknown parameter.
    func list(
        _ call: APICall,
        by filters: [String: (Object) -> String?],
        isStrict: Bool = true,
        where matches: (Object) -> Bool = { _ in true },
        json: (inout Object) -> ByteBuffer
    ) throws(APIError) -> APIReply {
        let form = call.form
        if isStrict { try form.allow(ListPage.parameters.union(filters.keys)) }
        let wanted = filters.compactMap { name, value in
            form[name].map { (value: value, text: $0) }
        }
        let created = try form.range("created")
        return try ListPage(call, kind: Object.kind) { number(of: $0) }
            .reply(all) { number in
                let object = self[number]
                return object.account == call.account && !object.isDeleted
                    && created.contains(object.created) && matches(object)
                    && wanted.allSatisfy { $0.value(object) == $0.text }
            } json: { number in
                var object = self[number]
                return json(&object)
            }
    }
}
