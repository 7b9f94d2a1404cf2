import Dispatch
import Foundation
import Synchronization

/// The keys of the person at the terminal, each as it is pressed.
enum Keyboard {
    /// How the terminal was before; what it becomes again, however the program ends.
    private static let before = Mutex<termios?>(nil)
    /// Written before the terminal is given back.
    private static let farewell = Mutex("")
    private static let endings = Mutex<[any DispatchSourceSignal]>([])

    /// Begins to read; the stream never ends, and without a terminal it gives nothing.
    ///
    /// `farewell` is written to the terminal at the end, such as what leaves the alternate screen.
    static func keys(farewell text: String = "") -> AsyncStream<Character> {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, Terminal.isInteractive,
            unsafe tcgetattr(STDIN_FILENO, &settings) == 0
        else { return AsyncStream { _ in } }
        before.withLock { $0 = settings }
        farewell.withLock { $0 = text }
        atexit { Keyboard.giveBack() }
        endings.withLock { endings in
            for number in [SIGINT, SIGTERM, SIGHUP] { endings.append(ending(by: number)) }
        }
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        return AsyncStream { keys in
            // Reading waits for ever, which no thread of the pool may.
            Thread.detachNewThread {
                while let data = try? FileHandle.standardInput.read(upToCount: 1),
                    let byte = data.first
                {
                    keys.yield(Character(Unicode.Scalar(byte)))
                }
            }
        }
    }

    /// Ends the program as the signal would have, but with the terminal as it was.
    private static func ending(by number: Int32) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { exit(128 + number) }
        source.resume()
        return source
    }

    private static func giveBack() {
        before.withLock { settings in
            guard var settings else { return }
            Terminal.write(farewell.withLock(\.self))
            unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        }
    }
}
