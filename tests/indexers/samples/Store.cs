using System;
using static System.Math;

namespace Example.Shop
{
    /// <summary>Where things are.</summary>
    [Serializable]
    public abstract class Store<T> : Base, IStore where T : class
    {
        private const int Limit = 3;
        public string Name { get; set; }

        /// <summary>How many.</summary>
        public int Count
        {
            get { return items.Count; }
        }

        public Store(string name) : base(name) { Name = name; }
        ~Store() { }

        /// <summary>
        /// Adds an item.
        /// </summary>
        [Obsolete("no")]
        public async Task<int> Add(T item, int times = 1)
        {
            int Twice(int x) => x * 2;
            await items.AddAsync(item).ConfigureAwait(false);
            return Twice(Max(times, 2));
        }

        public static bool operator ==(Store<T> a, Store<T> b) => a.Equals(b);
        public T this[int index] { get { return items[index]; } }
        public event EventHandler Changed;
        protected abstract void Clear();

        private struct Slot { public int Index; }
    }

    public interface IStore { int Count { get; } void Clear(); }
    internal enum State { Open, Closed }
    public record Point(int X, int Y);
    public delegate void Handler(object sender, EventArgs e);
}
