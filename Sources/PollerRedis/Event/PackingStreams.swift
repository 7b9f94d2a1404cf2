import CZlib
import Synchronization

/// Deflate streams that have read the same dictionary, for any number of threads.
///
/// *Problem.* A stream serves one thread at a time, and making one takes three times as long as packing an event.
///
/// *Approach.* A thread uses the first stream that is free, so a process that packs on one thread has one stream. A
/// stream takes 210 KB from its first use on.
struct PackingStreams: Sendable {
    /// More threads hardly ever pack at the same time, because an event takes 10 µs.
    ///
    /// They wait for the first stream.
    private static let countMax = 4

    private let first: PackingStream
    private let others: [PackingStream]

    /// Creates streams that read the dictionary when they are first used.
    init(dictionary: [UInt8]) {
        first = PackingStream(dictionary)
        others = (1..<Self.countMax).map { _ in PackingStream(dictionary) }
    }

    /// Packs any bytes; `nil` if memory is short.
    func pack(_ bytes: [UInt8]) -> [UInt8]? {
        if let packed = first.packUnlessInUse(bytes) { return packed }
        for stream in others {
            if let packed = stream.packUnlessInUse(bytes) { return packed }
        }
        return first.pack(bytes)
    }
}

/// A class because it owns a lock.
private final class PackingStream: Sendable {
    private let packer: Mutex<Packer>

    init(_ dictionary: [UInt8]) {
        packer = Mutex(Packer(dictionary: dictionary))
    }

    func pack(_ bytes: [UInt8]) -> [UInt8]? {
        packer.withLock { $0.pack(bytes) }
    }

    /// Packs any bytes; an outer `nil` if another thread uses the stream.
    func packUnlessInUse(_ bytes: [UInt8]) -> [UInt8]?? {
        packer.withLockIfAvailable { $0.pack(bytes) }
    }
}

/// The owner of a C object, which it never exposes, hence `@safe`.
@safe
private struct Packer: ~Copyable {
    private let dictionary: [UInt8]
    /// `nil` before the first use, or when there was no memory for it.
    private var object: UnsafeMutablePointer<czlib_packer>?

    init(dictionary: [UInt8]) {
        self.dictionary = dictionary
        unsafe object = nil
    }

    deinit {
        if let object = unsafe object { unsafe czlib_packer_free(object) }
    }

    mutating func pack(_ bytes: [UInt8]) -> [UInt8]? {
        if unsafe object == nil {
            unsafe object = dictionary.withUnsafeBufferPointer { dictionary in
                unsafe czlib_packer_make(
                    dictionary.baseAddress,
                    UInt32(clamping: dictionary.count)
                )
            }
        }
        guard let object = unsafe object else { return nil }
        // Incompressible data is stored in blocks with a few bytes before each.
        let capacity = bytes.count + bytes.count / 64 + 64
        return unsafe zlibOutput(capacity: capacity) { target in
            unsafe bytes.withUnsafeBufferPointer { source in
                unsafe czlib_pack(
                    object,
                    source.baseAddress,
                    UInt32(clamping: source.count),
                    target.baseAddress,
                    UInt32(clamping: capacity)
                )
            }
        }
    }
}

/// Returns the bytes that a function of zlib's shim has written; `nil` if it returns a negative number.
func zlibOutput(
    capacity: Int,
    _ write: (UnsafeMutableBufferPointer<UInt8>) -> Int
) -> [UInt8]? {
    var isDone = true
    let output = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { target, count in
        let length = unsafe write(target)
        isDone = length >= 0
        count = max(length, 0)
    }
    return isDone ? output : nil
}
