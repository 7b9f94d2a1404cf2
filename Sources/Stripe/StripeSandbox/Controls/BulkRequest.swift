/// The body of `POST /_sandbox/bulk`.
struct BulkRequest: Decodable {
    let count: Int
    /// `ideal` unless given.
    let type: String?
    /// 1099 unless given.
    let amount: Int?
}
