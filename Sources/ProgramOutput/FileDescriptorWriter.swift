#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// Writes bytes to a file descriptor with the system call, without traps.
///
/// Foundation's `FileHandle.write(_:)` ends the process when a disk is full or a pipe is closed.
struct FileDescriptorWriter: Sendable {
    /// The reason that bytes were not written.
    struct Failure: Error, Hashable {
        /// The value of `errno`.
        let code: Int32
        /// Whether a part of the bytes was written before.
        let isPartial: Bool

        /// The system's text, as `No space left on device`.
        var text: String { unsafe String(cString: strerror(code)) }
    }

    let descriptor: Int32

    /// Writes all bytes; waits while the reader of a pipe or terminal is busy.
    func write(_ bytes: [UInt8]) throws(Failure) {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe systemWrite(
                    descriptor,
                    buffer.baseAddress?.advanced(by: done),
                    buffer.count - done
                )
            }
            if count >= 0 {
                done += count
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: waitUntilWritable()
            default: throw Failure(code: errno, isPartial: done > 0)
            }
        }
    }

    /// A terminal that another program made non-blocking answers EAGAIN.
    private func waitUntilWritable() {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // Interrupted or not: the next write shows whether there is room.
        _ = unsafe poll(&request, 1, 1000)
    }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(descriptor, bytes, count)
}
