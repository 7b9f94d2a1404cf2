extension KeyedDecodingContainer {
    /// Decodes an integer so that a fraction or a number out of range is an error that names its field.
    ///
    /// `JSONDecoder` throws an error of its own for such numbers and wraps it far outside,
    /// without a path. Standing in this module, this function is what its synthesised decoders call.
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        do {
            return try decodeIfPresent(Int64.self, forKey: key).map { Int($0) }
        } catch let error as DecodingError {
            throw error
        } catch {
            throw DecodingError.typeMismatch(
                type,
                DecodingError.Context(
                    codingPath: codingPath + [key],
                    debugDescription: "the number is not an integer of 64 bits"
                )
            )
        }
    }
}
