/// What is left of an object that was removed.
public struct DeletedObject: StripeObject {
    /// The object's id.
    public let id: String
    /// Always true.
    public let deleted: Bool
    /// The answer as the API sent it.
    public let allResponseFields: JSONValue

    /// Decodes the API's answer.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        deleted = try fields.required("deleted")
        allResponseFields = try JSONValue(from: decoder)
    }
}
